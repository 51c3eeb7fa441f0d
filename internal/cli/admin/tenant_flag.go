package admin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// takesTenant adds the flag --tenant to a command whose arguments are a tenant, or begin with one: "integration show hris
// --tenant acme" is "integration show acme/hris", and "integration list --tenant acme" is "integration list acme".
func (a *Client) takesTenant(cmd *cobra.Command) {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	usage = strings.TrimLeft(usage, "[(")
	if !strings.HasPrefix(usage, "TENANT") {
		return
	}
	flag := cmd.Flags().Lookup("tenant")
	if flag == nil {
		cmd.Flags().String("tenant", "", "the tenant, where the argument leaves it out")
		flag = cmd.Flags().Lookup("tenant")
	}
	whole := !strings.HasPrefix(usage, "TENANT/")
	with := func(args []string) ([]string, error) {
		tenant := flag.Value.String()
		if tenant == "" {
			return args, nil
		}
		return withTenant(tenant, args, whole, cmd)
	}
	check, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		args, err := with(args)
		if err == nil && check != nil {
			err = check(cmd, args)
		}
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args, err := with(args)
		if err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// withTenant puts the tenant of the flag into the arguments. One that names another tenant contradicts it. whole: the
// first argument is a tenant; else each is of a tenant, but for a file or a step that follows the first.
func withTenant(tenant string, args []string, whole bool, cmd *cobra.Command) ([]string, error) {
	if whole {
		if len(args) > 0 && args[0] != tenant {
			return nil, fmt.Errorf("%s and --tenant %s name two tenants: leave one out", terminal.Printable(args[0]),
				terminal.Printable(tenant))
		}
		if len(args) == 0 {
			args = []string{tenant}
		}
		return args, nil
	}
	all := make([]string, len(args))
	for n, arg := range args {
		named, _, found := strings.Cut(arg, "/")
		switch {
		case n > 0 && !strings.Contains(cmd.Use, "…"), named == tenant && found:
			all[n] = arg
		case found:
			return nil, fmt.Errorf("%s and --tenant %s name two tenants: leave one out, or write %s/%s if that has a slash "+
				"in it", terminal.Printable(arg), terminal.Printable(tenant), terminal.Printable(tenant), terminal.Printable(arg))
		default:
			all[n] = tenant + "/" + arg
		}
	}
	return all, nil
}
