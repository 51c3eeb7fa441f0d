package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Tenant returns the command `hiregate tenant`.
func Tenant() *cobra.Command {
	return group(&cobra.Command{
		Use:   "tenant",
		Short: "Lists, shows, sets and removes tenants",
		Long: `Lists and shows the tenants of a running gateway, and makes, changes and removes those that are
kept in its database. Tenants of the Caddyfile are changed there.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate tenant list
  hiregate tenant set initech --name "Initech" --secret-file initech.secret
  hiregate tenant remove initech`,
	}, tenantList, tenantShow, tenantSet, tenantRemove, tenantPortal)
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

	Rate json.RawMessage `json:"rate"` // sent back as it came
}

func tenantList(a *Client) *cobra.Command {
	return listing(a, &pages{path: "/v1/tenants"}, &cobra.Command{
		Use:   "list",
		Short: "Lists the tenants",
		Args:  terminal.Exactly(0, "tenant list takes no argument"),
	}, []string{"tenant", "name", "kept in", "secrets", "invalid exports", "updated"}, func(t *tenantRow) []any {
		return []any{t.ID, t.Name, t.keptIn(), t.Secrets, t.Invalid, t.UpdatedAt}
	})
}

func (t *tenantRow) keptIn() string {
	if t.Declared {
		return "Caddyfile"
	}
	return "database"
}

func tenantSet(a *Client) *cobra.Command {
	var name, invalid string
	var files []string
	var none, restore bool
	cmd := &cobra.Command{
		Use:   "set TENANT",
		Short: "Makes a tenant, or changes it",
		Long: `Makes a tenant in the gateway's database, or changes what the flags name of one; all else of it
stays. Its inbound signing secrets are read from files, each the secret alone, so that they show
up in no list of processes; "-" reads one from standard input. They take the place of those it
has: name two during a rotation. Without a secret the tenant receives no exports; it can still
send them. A name under which something of a removed tenant is kept is refused: choose another, or
bring that tenant back with --restore.`,
		Example: `  hiregate tenant set initech --name "Initech" --secret-file initech.secret
  hiregate tenant set initech --secret-file initech.secret --secret-file initech-next.secret
  hiregate tenant set initech --invalid quarantine`,
		Args: terminal.Exactly(1, "tenant set takes one tenant, such as: hiregate tenant set initech --name Initech"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := model.ValidateTenantName(args[0]); err != nil {
				return err
			}
			if none && len(files) > 0 {
				return errors.New("--secret-file and --no-secret exclude each other: leave one out")
			}
			changed := map[string]any{}
			if cmd.Flags().Changed("name") {
				changed["name"] = name
			}
			if cmd.Flags().Changed("invalid") {
				changed["invalid"] = invalid
			}
			if restore {
				changed["restore"] = true
			}
			if none {
				changed["secrets"] = []string{}
			}
			if len(files) > 0 {
				secrets, err := readSecrets(cmd.InOrStdin(), files)
				if err != nil {
					return err
				}
				changed["secrets"] = secrets
			}
			return changeTenant(cmd, a, args[0], changed)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&name, "name", "", "name for people")
	fl.StringArrayVar(&files, "secret-file", nil, "file with an inbound signing secret; repeat it for a second one")
	fl.BoolVar(&none, "no-secret", false, "remove the secrets it has: it receives no exports any more")
	fl.BoolVar(&restore, "restore", false, "bring a removed tenant back, with what is kept of it")
	fl.StringVar(&invalid, "invalid", "", "what becomes of exports that break the schema: refuse (default) or quarantine")
	return cmd
}

// changeTenant makes a tenant, or changes it. The gateway puts all settings in the place of those there are, but for
// secrets that are left out, since no answer shows them: those that stay are sent as they were, unless
// they have changed since.
func changeTenant(cmd *cobra.Command, a *Client, name string, changed map[string]any) error {
	ctx, stop := terminal.Interruptible(cmd)
	defer stop()
	path := tenantPath(name)
	in, unchanged := map[string]any{}, http.Header{}
	var before, after tenantRow
	header, err := a.Send(ctx, http.MethodGet, path, nil, nil, &before)
	missing := new(Refusal)
	switch {
	case err == nil:
		in["name"], in["invalid"], in["rate"] = before.Name, before.Invalid, before.Rate
		if tag := header.Get("ETag"); tag != "" {
			unchanged.Set("If-Match", tag)
		}
	case errors.As(err, &missing) && missing.Status == http.StatusNotFound:
		unchanged.Set("If-None-Match", "*")
	default:
		return err
	}
	maps.Copy(in, changed)
	var raw json.RawMessage
	if _, err := a.Send(ctx, http.MethodPut, path, unchanged, in, &raw); err != nil {
		return err
	}
	if a.json {
		return terminal.WriteJSON(cmd.OutOrStdout(), raw)
	}
	if err := json.Unmarshal(raw, &after); err != nil {
		return fmt.Errorf("reading what the gateway answered: %w", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is set, with %d secrets\n", name, after.Secrets)
	return nil
}

func tenantRemove(a *Client) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove TENANT",
		Short: "Removes a tenant; what it had stays",
		Long: `Removes a tenant that has no integration any more, with its users of the Apply API, and revokes
its API keys. Its exports, candidates, jobs and applications stay, and the answer says so. No
other tenant gets its name meanwhile; "tenant set --restore" brings it back.`,
		Args: terminal.Exactly(1, "tenant remove takes one tenant, such as: hiregate tenant remove initech"),
	}
	ask := a.asking(cmd)
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		if err := model.ValidateTenantName(args[0]); err != nil {
			return err
		}
		if err := ask(ctx, cmd, args[0]); err != nil {
			return err
		}
		var removal struct {
			Kept []string `json:"kept"`
		}
		if shown, err := a.ask(ctx, cmd, http.MethodDelete, tenantPath(args[0]), nil, &removal); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is removed\n", args[0])
		if len(removal.Kept) > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "kept under its name, which no other tenant gets: %s\n",
				strings.Join(removal.Kept, ", "))
		}
		return nil
	})
	return cmd
}

// readSecrets reads several, each from a file of its own.
func readSecrets(in io.Reader, files []string) (secrets []string, err error) {
	for _, file := range files {
		secret, err := terminal.ReadSecret(in, file)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}
