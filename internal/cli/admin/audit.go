package admin

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Audit returns the command `hiregate audit`.
func Audit() *cobra.Command {
	return group(&cobra.Command{
		Use:   "audit",
		Short: "Lists who did what through the management API and the command line",
		Example: `  hiregate audit list --tenant acme --since 24h
  hiregate audit list --action erase --all --json`,
	}, auditList)
}

func auditList(a *Client) *cobra.Command {
	var p pages
	var tenant, object, action, since, until string
	cmd := &cobra.Command{
		Use:   "list [TENANT]",
		Short: "Lists who did what, newest first",
		Long: `Lists who released, redelivered, exported or erased, disabled or enabled an integration, or
changed the configuration, and when. Entries are kept for 400 days. The changes of candidates,
jobs and job applications are in the log alone, but for their deletion.`,
		Args: atMostTenant("audit"),
	}
	fl := cmd.Flags()
	fl.StringVar(&tenant, "tenant", "", "what was done to this tenant only")
	fl.StringVar(&object, "object", "", "what was done to this only, such as exports/UUID or integrations/hris")
	fl.StringVar(&action, "action", "", "such as redeliver, release, erase, set or remove")
	fl.StringVar(&since, "since", "", "what was done since then only: a time such as 2026-11-20T12:00:00Z, or how long "+
		"ago, such as 24h")
	fl.StringVar(&until, "until", "", "what was done before then only: a time, or how long ago")
	p.choose = func(args []string) error {
		tenant = cmp.Or(tenant, strings.Join(args, ""))
		p.path, p.query = "/v1/audit", url.Values{}
		for name, value := range map[string]string{"tenant": tenant, "object": object, "action": action} {
			if value != "" {
				p.query.Set(name, value)
			}
		}
		return setTimes(p.query, since, until)
	}
	columns := []string{"at", "who", "did", "tenant", "object"}
	return listing(a, &p, cmd, columns, func(e *model.AuditEntry) []any {
		return []any{e.At, terminal.Reason(e.Author.String()), terminal.State(e.Action), e.Tenant, terminal.ID(e.Object)}
	})
}
