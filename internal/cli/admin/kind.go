package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// kind describes a sort of things of the management API: where the API lists them, and how a command names one.
type kind struct {
	command string // its command, such as api-user
	word    string // for people, such as API user; empty: the name of the command
	at      string // path of its list: /v1/users; of what a tenant has, below the tenant: candidates
	under   *kind  // below what the list is, where that is no tenant
	all     bool   // there is a list of all tenants, too
	arg     string // the argument that names one, in the usage: TENANT/CANDIDATE|EMAIL
	example string // such an argument; where it is empty, "list" shows them
	id      string // field that completes such an argument; empty: id
	email   string // filter of the list that finds one by an e-mail address in the place of its id; empty: there is none
	atInID  bool   // an id may be an e-mail address, too
	valid   func(id string) error
	json    string // an example of what a file has for the command set, if it takes one

	// other finds one by another name, and returns its id; empty: the argument has the id.
	other func(ctx context.Context, a *Client, arg string) (id string, err error)
}

func (k *kind) noun() string { return cmp.Or(k.word, k.command) }

// inTenant reports whether each one belongs to a tenant, whose name its argument begins with.
func (k *kind) inTenant() bool { return !strings.HasPrefix(k.at, "/") }

// split returns the path of the list that has what an argument names, and its id. Ids may have slashes in them, but for
// those under another thing: there the last slash separates the two.
func (k *kind) split(arg string) (list, id string, err error) {
	switch {
	case k.under != nil:
		n := strings.LastIndexByte(arg, '/')
		if n < 0 || n == len(arg)-1 || strings.Count(arg[:n], "/") == 0 {
			return "", "", k.whose()
		}
		owner, err := k.under.path(arg[:n])
		return owner + "/" + k.at, arg[n+1:], err
	case k.inTenant():
		tenant, id, ok := strings.Cut(arg, "/")
		if !ok || id == "" {
			return "", "", k.whose()
		}
		list, err = tenantPath(tenant, k.at), model.ValidateTenantName(tenant)
		arg = id
	default:
		list = k.at
	}
	if err == nil && k.valid != nil {
		err = k.valid(arg)
	}
	return list, arg, err
}

func (k *kind) whose() error {
	return fmt.Errorf("whose %s is it? write it as %s, such as %s", k.noun(), k.arg, k.example)
}

// path returns the path of the one whose id an argument has.
func (k *kind) path(arg string) (string, error) {
	list, id, err := k.split(arg)
	return list + "/" + terminal.PathSegment(id), err
}

// find returns the path of the one that an argument names by its id or e-mail address.
func (k *kind) find(ctx context.Context, a *Client, arg string) (string, error) {
	list, id, err := k.split(arg)
	if err != nil {
		return "", err
	}
	if k.other != nil {
		other, err := k.other(ctx, a, arg)
		return list + "/" + terminal.PathSegment(cmp.Or(other, id)), err
	}
	ids, err := k.byEmail(ctx, a, arg)
	switch {
	case err != nil:
		return "", err
	case len(ids) > 1:
		tenant, _, _ := strings.Cut(arg, "/")
		return "", fmt.Errorf("tenant %s has several %ss with this e-mail address: name one by id; hiregate %s list %s "+
			"shows them", tenant, k.noun(), k.command, tenant)
	case len(ids) == 1:
		id = ids[0]
	case k.email != "" && strings.Contains(id, "@") && !k.atInID:
		return "", k.none(arg)
	}
	return list + "/" + terminal.PathSegment(id), nil
}

// byEmail returns the ids of those that have the e-mail address in an argument; none if it has an id instead.
func (k *kind) byEmail(ctx context.Context, a *Client, arg string) (ids []string, err error) {
	list, address, err := k.split(arg)
	if err != nil || k.email == "" || !strings.Contains(address, "@") {
		return nil, err
	}
	var page struct{ Items []struct{ ID string } }
	err = a.Call(ctx, http.MethodGet, list+"?"+k.email+"="+url.QueryEscape(address), nil, &page)
	for _, item := range page.Items {
		ids = append(ids, item.ID)
	}
	return ids, err
}

// none is the error of an argument that names nothing.
func (k *kind) none(arg string) error {
	if !k.inTenant() {
		return fmt.Errorf("there is no %s %s: hiregate %s list shows them", k.noun(), terminal.Printable(arg), k.command)
	}
	tenant, id, _ := strings.Cut(arg, "/")
	return fmt.Errorf("tenant %s has no %s %s: hiregate %s list %s shows those it has", tenant, k.noun(),
		terminal.Printable(id), k.command, tenant)
}

// verb completes a command that does something with the one that its first argument names: run gets its path. cmd.Use has
// the verb and further arguments.
func (k *kind) verb(
	a *Client, cmd *cobra.Command, run func(ctx context.Context, cmd *cobra.Command, path string, args []string) error,
) *cobra.Command {
	verb, more, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = strings.TrimSpace(verb + " " + k.arg + " " + more)
	if cmd.Args == nil {
		cmd.Args = k.one(verb)
	}
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		path, err := k.find(ctx, a, args[0])
		if err != nil {
			return err
		}
		return run(ctx, cmd, path, args)
	})
	return cmd
}

// one accepts a single argument.
func (k *kind) one(verb string) cobra.PositionalArgs {
	such := fmt.Sprintf("such as: hiregate %s %s %s", k.command, verb, k.example)
	if k.example == "" {
		such = fmt.Sprintf("as hiregate %s list shows it", k.command)
	}
	return terminal.Exactly(1, fmt.Sprintf("%s %s takes one %s, %s", k.command, verb, k.noun(), such))
}

// listUsage returns the usage of the command list, and its arguments.
func (k *kind) listUsage() (use string, args cobra.PositionalArgs) {
	tenant, _, _ := strings.Cut(k.example, "/")
	such := fmt.Sprintf("such as: hiregate %s list ", k.command)
	switch {
	case k.under != nil:
		return "list " + k.under.arg, terminal.Exactly(1, fmt.Sprintf("%s list takes one %s, %s", k.command, k.under.noun(),
			such+k.under.example))
	case k.all:
		return "list [TENANT]", func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New(k.command + " list takes one tenant at most, " + such + "acme")
			}
			return nil
		}
	case k.inTenant():
		return "list TENANT", terminal.Exactly(1, k.command+" list takes one tenant, "+such+tenant)
	}
	return "list", terminal.Exactly(0, k.command+" list takes no argument")
}

// listed returns the path of the list that the arguments of the command list choose. A list of all tenants that has no
// address for one of them takes the tenant as a filter.
func (k *kind) listed(args []string, query url.Values) (string, error) {
	switch {
	case k.under != nil:
		owner, err := k.under.path(args[0])
		return owner + "/" + k.at, err
	case len(args) == 0:
		return "/v1/" + strings.TrimPrefix(k.at, "/v1/"), nil
	case !k.inTenant():
		query.Set("tenant", args[0])
		return k.at, model.ValidateTenantName(args[0])
	}
	return tenantPath(args[0], k.at), model.ValidateTenantName(args[0])
}
