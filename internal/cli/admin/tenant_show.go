package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// tenantSignatures are what the requests at a tenant's hook are signed with.
type tenantSignatures struct {
	Secrets []struct {
		Number     int       `json:"number"`
		LastUsedAt time.Time `json:"lastUsedAt"`
	} `json:"secrets"`
	Refused struct {
		Count  int64     `json:"count"`
		LastAt time.Time `json:"lastAt"`
	} `json:"refused"`
}

func tenantShow(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "show TENANT",
		Short: "Shows a tenant, and when its inbound secrets were last used",
		Long: `Shows a tenant, when each of its inbound secrets was last used, and how many requests were signed with none
of them. Uses are stored once a minute. A rotation can end when the old secret is used no more.`,
		Args: terminal.Exactly(1, "tenant show takes one tenant, such as: hiregate tenant show initech"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := model.ValidateTenantName(args[0]); err != nil {
				return err
			}
			var rawTenant, rawSignatures json.RawMessage
			if err := a.Call(ctx, http.MethodGet, tenantPath(args[0]), nil, &rawTenant); err != nil {
				return err
			}
			if err := a.Call(ctx, http.MethodGet, tenantPath(args[0], "signatures"), nil, &rawSignatures); err != nil {
				return err
			}
			if a.json {
				shown := map[string]json.RawMessage{}
				if err := json.Unmarshal(rawTenant, &shown); err != nil {
					return a.elsewhere(strange)
				}
				shown["signatures"] = rawSignatures
				return terminal.WriteJSON(cmd.OutOrStdout(), shown)
			}
			var t tenantRow
			var s tenantSignatures
			if json.Unmarshal(rawTenant, &t) != nil || json.Unmarshal(rawSignatures, &s) != nil {
				return a.elsewhere(strange)
			}
			return t.print(cmd, s)
		}),
	}
}

// print shows the tenant to a person.
func (t *tenantRow) print(cmd *cobra.Command, s tenantSignatures) error {
	table := terminal.NewTable(cmd.OutOrStdout())
	table.Row("tenant", t.ID)
	table.Row("name", t.Name)
	table.Row("kept in", t.keptIn())
	table.Row("invalid exports", t.Invalid)
	table.Row("integrations", strings.Join(t.Integrations, ", "))
	for _, secret := range s.Secrets {
		name := fmt.Sprintf("secret %d last used", secret.Number)
		if secret.LastUsedAt.IsZero() {
			table.Row(name, "never")
			continue
		}
		table.Row(name, secret.LastUsedAt)
	}
	table.Row("wrong signatures", s.Refused.Count)
	table.Row("the last one", s.Refused.LastAt)
	table.Row("updated", t.UpdatedAt)
	return table.Flush()
}
