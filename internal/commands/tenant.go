package commands

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/hiring"
)

// Tenant returns the command `hiregate tenant`.
func Tenant() *cobra.Command {
	a := new(admin)
	cmd := group(&cobra.Command{
		Use:   "tenant",
		Short: "Lists, makes and removes tenants",
		Long: `Lists the tenants of a running gateway, and makes and removes those that are kept in its database. Tenants of the Caddyfile
are changed there.

These commands ask the gateway, at Caddy's admin endpoint.`,
		Example: `  hiregate tenant list
  hiregate tenant set initech --name "Initech" --secret-file initech.secret
  hiregate tenant remove initech`,
	}, tenantList(a), tenantSet(a), tenantRemove(a))
	a.flags(cmd)
	return cmd
}

// tenantRow is what the tables show of a tenant.
type tenantRow struct {
	ID           string    `json:"id"`
	Name         string    `json:"name"`
	Declared     bool      `json:"declared"`
	Secrets      int       `json:"secrets"`
	Invalid      string    `json:"invalid"`
	UpdatedAt    time.Time `json:"updatedAt"`
	Integrations []string  `json:"integrations"`
}

func tenantList(a *admin) *cobra.Command {
	p := &pages{path: "/v1/tenants"}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Lists the tenants",
		Args:  exactly(0, "tenant list takes no argument"),
	}
	columns := []string{"tenant", "name", "kept in", "secrets", "invalid exports", "updated"}
	return listing(a, p, cmd, columns, func(t *tenantRow) []any {
		where := "database"
		if t.Declared {
			where = "Caddyfile"
		}
		return []any{t.ID, t.Name, where, t.Secrets, t.Invalid, t.UpdatedAt}
	})
}

func tenantSet(a *admin) *cobra.Command {
	var name, invalid string
	var files []string
	cmd := &cobra.Command{
		Use:   "set TENANT",
		Short: "Makes a tenant, or changes it",
		Long: `Makes a tenant in the gateway's database, or puts other settings in the place of those it has. Its inbound signing secrets are
read from files, each the secret alone, so that they show up in no list of processes; "-" reads one from standard input. Name two
during a rotation. Without a secret the tenant receives no exports; it can send them all the same.`,
		Args: exactly(1, "tenant set takes one tenant, such as: hiregate tenant set initech --name Initech"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := hiring.CheckTenantName(args[0]); err != nil {
				return err
			}
			in := map[string]any{"name": name}
			secrets := []string{}
			for _, file := range files {
				secret, err := readSecret(cmd.InOrStdin(), file)
				if err != nil {
					return err
				}
				secrets = append(secrets, secret)
			}
			in["secrets"] = secrets
			if invalid != "" {
				in["invalid"] = invalid
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			if shown, err := a.ask(ctx, cmd, http.MethodPut, "/v1/tenants/"+segment(args[0]), in, nil); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is set, with %d secrets\n", args[0], len(secrets))
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name for people")
	cmd.Flags().StringArrayVar(&files, "secret-file", nil, "file with an inbound signing secret; repeat it for a second one")
	cmd.Flags().StringVar(&invalid, "invalid", "", "what becomes of exports that break the schema: refuse (default) or quarantine")
	return cmd
}

func tenantRemove(a *admin) *cobra.Command {
	return &cobra.Command{
		Use:   "remove TENANT",
		Short: "Removes a tenant; its exports stay",
		Args:  exactly(1, "tenant remove takes one tenant, such as: hiregate tenant remove initech"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := hiring.CheckTenantName(args[0]); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			if err := a.call(ctx, http.MethodDelete, "/v1/tenants/"+segment(args[0]), nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is removed\n", args[0])
			return nil
		},
	}
}

// maxSecret is in bytes.
const maxSecret = 4 << 10

// readSecret reads a secret from a file, or from standard input for "-". A line end behind it is not part of it.
func readSecret(in io.Reader, file string) (string, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("reading a secret: %w", cause(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("reading a secret: %w", cause(err))
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	switch {
	case secret == "":
		return "", errors.New("the file of a secret is empty: put the secret into it, alone")
	case len(secret) > maxSecret:
		return "", fmt.Errorf("the file of a secret is longer than %d bytes: put the secret into it, alone", maxSecret)
	}
	return secret, nil
}

// readInput reads a file, or standard input for "-", up to a size in bytes.
func readInput(in io.Reader, file string, most int64) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", printable(file), cause(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", printable(file), cause(err))
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("%s is larger than %d KiB: make it smaller", printable(file), most>>10)
	}
	return raw, nil
}
