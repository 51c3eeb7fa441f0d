package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// APIKey returns the command `hiregate api-key`.
func APIKey() *cobra.Command {
	return group(&cobra.Command{
		Use:   "api-key",
		Short: "Lists, shows, sets and removes the keys of the management API",
		Long: `Lists, shows, makes and revokes the keys of a running gateway's management API, which the
directive manage_api serves. A key is named by its label, or by its id.

At Caddy's admin endpoint these commands need no key themselves.`,
		Example: `  hiregate api-key set "CI of the HR team" --tenant initech --role operator
  hiregate api-key list
  hiregate api-key remove "CI of the HR team"`,
	}, apiKeyList, apiKeyShow, apiKeySet, apiKeyRemove)
}

// apiKeyRow is what is shown of a key.
type apiKeyRow struct {
	ID         string    `json:"id"`
	Label      string    `json:"label"`
	Tenant     string    `json:"tenant"`
	Role       string    `json:"role"`
	Key        string    `json:"key"`
	CreatedAt  time.Time `json:"createdAt"`
	RevokedAt  time.Time `json:"revokedAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
}

func (k *apiKeyRow) secret() string { return k.Key }
func (k *apiKeyRow) another() string {
	return "revoke it with `hiregate api-key remove " + terminal.Printable(k.ID) + "`, and make another"
}

func (k *apiKeyRow) opens() string {
	if k.Tenant == "" {
		return "all tenants"
	}
	return k.Tenant
}

func apiKeyList(a *Client) *cobra.Command {
	return listing(a, &pages{path: "/v1/api-keys"}, &cobra.Command{
		Use:   "list",
		Short: "Lists the keys, those that are revoked among them",
		Args:  terminal.Exactly(0, "api-key list takes flags only"),
	}, []string{"id", "label", "opens", "role", "created", "last used", "revoked"}, func(k *apiKeyRow) []any {
		return []any{k.ID, terminal.ID(k.Label), k.opens(), k.Role, k.CreatedAt, k.LastUsedAt, k.RevokedAt}
	})
}

// findAPIKey gives the path of a key that is named by label or id.
func findAPIKey(ctx context.Context, a *Client, arg string) (path string, err error) {
	key, err := liveKey(ctx, a, arg)
	if err != nil || key == nil {
		return fmt.Sprintf("/v1/api-keys/%s", terminal.PathSegment(arg)), err
	}
	return fmt.Sprintf("/v1/api-keys/%s", terminal.PathSegment(key.ID)), nil
}

// liveKey finds the key with a label that is not revoked; nil: there is none.
func liveKey(ctx context.Context, a *Client, label string) (found *apiKeyRow, err error) {
	err = each(ctx, a, "/v1/api-keys", func(k *apiKeyRow) error {
		if k.Label != label || !k.RevokedAt.IsZero() {
			return nil
		}
		if found != nil {
			return fmt.Errorf("several keys are labelled %s: name one by id; hiregate api-key list --all shows them",
				terminal.Printable(label))
		}
		found = k
		return nil
	})
	return found, err
}

var apiKeyExactlyOne = "takes one key, by label or id, as hiregate api-key list shows it"

func apiKeyShow(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "show LABEL|ID",
		Short: "Shows a key, without its secret",
		Args:  terminal.Exactly(1, "api-key show "+apiKeyExactlyOne),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := findAPIKey(ctx, a, args[0])
			if err != nil {
				return err
			}
			var k apiKeyRow
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, &k); shown || err != nil {
				return err
			}
			table := terminal.NewTable(cmd.OutOrStdout())
			table.Row("id", k.ID)
			table.Row("label", k.Label)
			table.Row("opens", k.opens())
			table.Row("role", k.Role)
			table.Row("created", k.CreatedAt)
			table.Row("last used", k.LastUsedAt)
			table.Row("revoked", k.RevokedAt)
			return table.Flush()
		}),
	}
}

func apiKeySet(a *Client) *cobra.Command {
	var in struct {
		Label  string `json:"label"`
		Tenant string `json:"tenant"`
		Role   string `json:"role"`
	}
	cmd := &cobra.Command{
		Use:   "set LABEL",
		Short: "Makes a key, and shows it this once",
		Long: `Makes a key of the management API, and shows it this once: the gateway keeps a hash of it alone.
The label says who gets it, so that it can be told from the others. A key is never changed: remove
it, and make another.

The role viewer looks at everything but keys; operator also works with candidates, jobs, steps,
job applications and exports; admin also with tenants, integrations, users and keys. The role
compliance reads the report on the compliance groups, and nothing else.`,
		Args: terminal.Exactly(1, "api-key set takes one label, which says who gets the key, such as: "+
			"hiregate api-key set CI --tenant initech --role operator"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			in.Label = args[0]
			before, err := liveKey(ctx, a, in.Label)
			if err != nil {
				return err
			}
			if before != nil {
				return fmt.Errorf("there is a key labelled %s: choose another label, or remove that one with "+
					"hiregate api-key remove %s", terminal.Printable(in.Label), before.ID)
			}
			var k apiKeyRow
			if shown, err := a.reveal(ctx, cmd, "/v1/api-keys", in, &k); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "It opens %s as %s, and is not shown again. Revoke it with: "+
				"hiregate api-key remove %s\n", k.opens(), k.Role, k.ID)
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Tenant, "tenant", "", "the only tenant it opens (default: all of them)")
	fl.StringVar(&in.Role, "role", "viewer", "viewer, operator, admin or compliance")
	return cmd
}

func apiKeyRemove(a *Client) *cobra.Command {
	return deletion(a, findAPIKey, "is revoked", &cobra.Command{
		Use:   "remove LABEL|ID",
		Short: "Revokes a key",
		Args:  terminal.Exactly(1, "api-key remove "+apiKeyExactlyOne),
	})
}
