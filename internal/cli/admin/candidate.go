package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

var candidateResource = resource{word: "candidate", path: "candidates", arg: "TENANT/CANDIDATE|EMAIL",
	example: "initech/c-zoe", json: `{"name":{"given":"Zoë","family":"Park"},"email":["zoe@example.com"]}`}

// Candidate returns the command `hiregate candidate`.
func Candidate() *cobra.Command {
	return group(&cobra.Command{
		Use:   "candidate",
		Short: "Lists, shows, sets, removes and exports candidates",
		Long: `Lists, shows, sets and removes the candidates of a tenant, and exports one of them. A candidate is
named by their id, or by the first of their e-mail addresses.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate candidate list initech
  hiregate candidate show initech/zoe@example.com
  hiregate candidate export initech/c-zoe`,
	}, candidateList, candidateShow, candidateSet, candidateRemove, candidateExport)
}

func candidateList(a *Client) *cobra.Command {
	return listing(a, pagesOf("candidates"), &cobra.Command{
		Use:   "list TENANT",
		Short: "Lists the candidates of a tenant",
		Args:  terminal.Exactly(1, "candidate list takes one tenant, such as: hiregate candidate list initech"),
	}, []string{"candidate", "name", "e-mail", "applied", "updated"}, func(c *model.Candidate) []any {
		return []any{c.ID, nameOf(c), strings.Join(c.Email, ", "), c.ApplyDate, c.UpdatedAt}
	})
}

func nameOf(c *model.Candidate) string {
	return cmp.Or(c.Name.Formatted, joined(c.Name.Given, c.Name.Family))
}

// findCandidate gives the path of a candidate who is named by id or e-mail address.
func findCandidate(ctx context.Context, a *Client, arg string) (path string, err error) {
	path, err = candidateResource.pathOf(arg)
	tenant, name, _ := strings.Cut(arg, "/")
	if err != nil || !strings.Contains(name, "@") {
		return path, err
	}
	var page struct{ Items []model.Candidate }
	if err := a.Call(ctx, http.MethodGet, tenantPath(tenant, "candidates")+"?email="+url.QueryEscape(name), nil,
		&page); err != nil {
		return "", err
	}
	switch len(page.Items) {
	case 0:
		return path, nil // an id may have an @ in it
	case 1:
		return tenantPath(tenant, "candidates", page.Items[0].ID), nil
	}
	return "", fmt.Errorf("tenant %s has several candidates with this e-mail address: name one by id; "+
		"hiregate candidate list %s shows them", tenant, tenant)
}

func candidateShow(a *Client) *cobra.Command {
	return shown(a, "candidate", candidateResource, findCandidate, func(cmd *cobra.Command, c *model.Candidate) error {
		table := terminal.NewTable(cmd.OutOrStdout())
		table.Row("candidate", c.ID)
		table.Row("tenant", c.Tenant)
		table.Row("alternate ids", strings.Join(c.AlternateIDs, ", "))
		table.Row("name", nameOf(c))
		table.Row("e-mail", strings.Join(c.Email, ", "))
		table.Row("phone", strings.Join(c.Phone, ", "))
		for _, address := range c.Address {
			table.Row("address", cmp.Or(address.Formatted, strings.Join([]string{address.Line, address.PostalCode,
				address.City}, " ")))
		}
		table.Row("applied", c.ApplyDate)
		for _, f := range c.CustomFields {
			table.Row(f.Name, f.Value)
		}
		table.Row("updated", c.UpdatedAt)
		return table.Flush()
	})
}

func candidateSet(a *Client) *cobra.Command {
	byID := candidateResource
	byID.arg = "TENANT/CANDIDATE"
	return byID.setting(a, "candidate")
}

func candidateRemove(a *Client) *cobra.Command {
	return deletion(a, findCandidate, "is removed", &cobra.Command{
		Use:   "remove " + candidateResource.arg,
		Short: "Removes a candidate who has no job applications",
		Args:  candidateResource.one("candidate", "remove"),
	})
}

// exported is what the gateway answers to the export of a candidate.
type exported struct {
	UUID       string `json:"uuid"`
	Deliveries []struct {
		Integration string    `json:"integration"`
		Outcome     string    `json:"outcome"`
		Reason      string    `json:"reason"`
		NextAt      time.Time `json:"nextAt"`
	} `json:"deliveries"`
}

func candidateExport(a *Client) *cobra.Command {
	var integration, application string
	cmd := &cobra.Command{
		Use:   "export " + candidateResource.arg,
		Short: "Exports a candidate, and shows what came of the first attempt",
		Args:  candidateResource.one("candidate", "export"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := findCandidate(ctx, a, args[0])
			if err != nil {
				return err
			}
			in := map[string]string{}
			if integration != "" {
				in["integration"] = integration
			}
			if application != "" {
				in["jobApplication"] = application
			}
			var e exported
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/exports", in, &e); shown || err != nil {
				return err
			}
			tenant, _, _ := strings.Cut(args[0], "/")
			fmt.Fprintf(cmd.OutOrStdout(), "export %s/%s\n", tenant, e.UUID)
			table := terminal.NewTable(cmd.OutOrStdout(), "integration", "outcome", "reason", "next attempt")
			for _, d := range e.Deliveries {
				table.Row(d.Integration, terminal.State(d.Outcome), terminal.Reason(d.Reason), d.NextAt)
			}
			return table.Flush()
		}),
	}
	cmd.Flags().StringVar(&integration, "integration", "", "integration to export to (default: every configured one)")
	cmd.Flags().StringVar(&application, "application", "",
		"the job application that the export is about, when there are several")
	return cmd
}
