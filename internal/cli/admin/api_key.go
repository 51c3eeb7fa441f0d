package admin

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// APIKey returns the command `hiregate api-key`.
func APIKey() *cobra.Command {
	return group(&cobra.Command{
		Use:   "api-key",
		Short: "Lists, shows, sets and removes the keys of the management API",
		Long: `Lists, shows, makes and revokes the keys of a running gateway's management API, which the
directive manage_api serves. A key is named by its label, or by its id. At Caddy's admin endpoint
no key is needed.`,
		Example: `  hiregate api-key set "CI of the HR team" --tenant initech --role operator
  hiregate api-key list
  hiregate api-key remove "CI of the HR team"`,
	}, apiKeys.list, apiKeys.show, apiKeySet, apiKeys.remove)
}

var apiKeys = noun[api.APIKey]{
	kind: kind{command: "api-key", word: "key", at: "/v1/api-keys", arg: "LABEL|ID", id: "label",
		other: liveKey},
	listHelp:   help{short: "Lists the keys, those that are revoked among them"},
	showHelp:   help{short: "Shows a key, without its secret"},
	removeHelp: help{short: "Revokes a key"},
	removed:    "is revoked",
	columns:    []string{"id", "label", "opens", "role", "created", "last used", "expires", "revoked"},
	fields: func(k *api.APIKey) []field {
		madeBy := ""
		if k.MadeBy != nil {
			madeBy = k.MadeBy.String()
		}
		return []field{
			{"id", k.ID},
			{"label", terminal.ID(k.Label)},
			{"opens", cmp.Or(k.Tenant, allTenants)},
			{"role", k.Role},
			{"created", k.CreatedAt},
			{"made by", madeBy},
			{"last used", k.LastUsedAt},
			{"expires", k.ExpiresAt},
			{"revoked", k.RevokedAt},
		}
	},
}

const allTenants = "all tenants"

// liveKey returns the id of the key with a label that is not revoked; empty: there is none.
func liveKey(ctx context.Context, a *Client, label string) (id string, err error) {
	err = each(ctx, a, "/v1/api-keys", func(k *api.APIKey) error {
		if k.Label != label || !k.RevokedAt.IsZero() {
			return nil
		}
		if id != "" {
			return fmt.Errorf("several keys are labelled %s: name one by id; hiregate api-key list --all shows them",
				terminal.Printable(label))
		}
		id = k.ID
		return nil
	})
	return id, err
}

func apiKeySet(a *Client) *cobra.Command {
	var in api.APIKeyInput
	var expires string
	cmd := &cobra.Command{
		Use:   "set LABEL",
		Short: "Makes a key, and shows it this once",
		Long: `Makes a key of the management API, and shows it this once: the gateway keeps only its hash. The
label says who gets it, so that it can be told apart from the others. A key is never changed: remove
it, and make another.

The role viewer looks at everything but keys; operator also works with candidates, jobs, steps,
job applications and exports; admin also with tenants, integrations, users and keys. The role
compliance reads the report on the compliance groups, and nothing else. "hiregate status" warns for a week
before a key ends that is used.`,
		Args: terminal.Exactly(1, "api-key set takes one label, which says who gets the key, such as: "+
			"hiregate api-key set CI --tenant initech --role operator"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			in.Label = args[0]
			if expires != "" {
				var err error
				if in.ExpiresAt, err = terminal.ParseEnd(expires, time.Now()); err != nil {
					return fmt.Errorf("--expires: %w", err)
				}
			}
			before, err := liveKey(ctx, a, in.Label)
			if err != nil {
				return err
			}
			if before != "" {
				return fmt.Errorf("there is a key labelled %s: choose another label, or remove that one with "+
					"hiregate api-key remove %s", terminal.Printable(in.Label), before)
			}
			var k api.APIKey
			revoke := func() string { return "hiregate api-key remove " + terminal.Printable(k.ID) }
			shown, err := a.reveal(ctx, cmd, apiKeys.at, in, &k, func() (key, replace string) {
				return k.Key, "revoke it with `" + revoke() + "`, and make another"
			})
			if !shown && err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "It opens %s as %s, and is not shown again. Revoke it with: %s\n",
					cmp.Or(k.Tenant, allTenants), k.Role, revoke())
			}
			return err
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&in.Tenant, "tenant", "", "the only tenant it opens (default: all of them)")
	fl.StringVar((*string)(&in.Role), "role", "viewer", "viewer, operator, admin or compliance")
	fl.StringVar(&expires, "expires", "", "when it ends, a time to come or how long it is until then, such as 90d (default: when it is removed)")
	return cmd
}
