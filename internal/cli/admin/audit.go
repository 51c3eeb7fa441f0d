package admin

import (
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
	}, auditEntries.list)
}

var auditEntries = noun[model.AuditEntry]{
	kind: kind{command: "audit", at: "/v1/audit", all: true},
	listHelp: help{"Lists who did what, newest first",
		`Lists who released, redelivered, exported or erased, disabled or enabled an integration, or
changed the configuration, and when. Entries are kept for 400 days. The changes of candidates,
jobs and job applications are only in the log, except their deletion.`},
	filters: []filter{
		{flag: "object", help: "what was done to this only, such as exports/UUID or integrations/hris"},
		{flag: "action", help: "one of " + strings.Join(model.AuditActions, ", ")},
		{flag: "since", time: true, help: "what was done since then only: a time such as 2026-11-20T12:00:00Z, or how long " +
			"ago, such as 24h"},
		{flag: "until", time: true, help: "what was done before then only: a time, or how long ago"},
	},
	columns: []string{"at", "who", "did", "tenant", "object"},
	fields: func(e *model.AuditEntry) []field {
		return []field{
			{"at", e.At},
			{"who", terminal.Reason(e.Author.String())},
			{"did", terminal.State(e.Action)},
			{"tenant", e.Tenant},
			{"object", terminal.ID(e.Object)},
			{"detail", terminal.Reason(e.Detail)},
		}
	},
}
