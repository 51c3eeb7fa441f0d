package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// APIKey returns the command `hiregate apikey`.
func APIKey() *cobra.Command {
	return group(&cobra.Command{
		Use:   "apikey",
		Short: "Lists, adds and revokes keys of the management API",
		Long: `Lists, adds and revokes the keys of a running gateway's management API, which the directive manage_api serves.

These commands ask the gateway, at Caddy's admin endpoint, which needs no key.`,
		Example: `  hiregate apikey add --label "CI of the HR team" --tenant initech --role operator
  hiregate apikey list
  hiregate apikey revoke 0b9c3f52-6a0e-4d3c-8a53-7f2a4b0e1c11`,
	}, apiKeyList, apiKeyAdd, apiKeyRevoke)
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
	return "revoke it with `hiregate apikey revoke " + terminal.Printable(k.ID) + "`, and make another"
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
		Args:  terminal.Exactly(0, "apikey list takes flags only"),
	}, []string{"id", "label", "opens", "role", "created", "last used", "revoked"}, func(k *apiKeyRow) []any {
		return []any{k.ID, k.Label, k.opens(), k.Role, k.CreatedAt, k.LastUsedAt, k.RevokedAt}
	})
}

func apiKeyAdd(a *Client) *cobra.Command {
	var in struct {
		Label  string `json:"label"`
		Tenant string `json:"tenant"`
		Role   string `json:"role"`
	}
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Makes a key, and shows it this once",
		Long: `Makes a key of the management API, and shows it this once: the gateway keeps a hash of it alone.

The role viewer looks at everything but keys; operator also works with candidates, jobs, steps, job applications and exports;
admin also with tenants, integrations, users and keys. The role compliance reads the report on the compliance groups, and nothing
else.`,
		Args: terminal.Exactly(0, "apikey add takes flags only, such as: hiregate apikey add --label CI --tenant "+
			"initech --role operator"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if in.Label == "" {
				return errors.New("say who gets the key, so that it can be told from the others: --label \"CI of the HR team\"")
			}
			var k apiKeyRow
			if shown, err := a.reveal(ctx, cmd, "/v1/api-keys", in, &k); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "It opens %s as %s, and is not shown again. Revoke it with: "+
				"hiregate apikey revoke %s\n", k.opens(), k.Role, k.ID)
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Label, "label", "", "who gets it, for people")
	fl.StringVar(&in.Tenant, "tenant", "", "the only tenant it opens (default: all of them)")
	fl.StringVar(&in.Role, "role", "viewer", "viewer, operator, admin or compliance")
	return cmd
}

func apiKeyRevoke(a *Client) *cobra.Command {
	return deletion(a, at("/v1/api-keys/%s"), "is revoked", &cobra.Command{
		Use:   "revoke ID",
		Short: "Revokes a key",
		Args:  terminal.Exactly(1, "apikey revoke takes the id of one key, as hiregate apikey list shows it"),
	})
}
