package admin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Export returns the command `hiregate export`, which lists, shows, redelivers, releases and erases exports.
func Export() *cobra.Command {
	return group(&cobra.Command{
		Use:   "export",
		Short: "Lists, shows, redelivers, releases and erases exports",
		Long: `Lists, shows and redelivers the exports of a running gateway, releases them from quarantine, and
erases what they hold. After the restore of an older backup, strays are the workflows of exports that
it lacks.`,
		Example: `  hiregate export list --tenant acme --outcome failed
  hiregate export list --undelivered --since 24h
  hiregate export list --follow
  hiregate export show acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11
  hiregate export redeliver acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11 --integration hris`,
	}, exportList, exportSearch, exportShow, exportRedeliver, exportRelease, exportFetch, exportErase, exportStrays)
}

var exports = noun[api.ExportDetail]{
	kind: kind{command: "export", at: "exports", all: true, arg: "TENANT/UUID",
		example: "acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11"},
	listHelp: help{short: "Lists exports, newest first"},
	filters: []filter{
		{flag: "outcome", help: "exports with such a delivery only: pending, retrying, held, delivered, failed or expired"},
		{flag: "class", help: "exports whose last attempt was such a fault only, failed ones unless --outcome says " +
			"otherwise: partner_fault, data_fault or our_fault"},
		{flag: "integration", ofTenant: true, help: "exports that were tried or held at this integration only"},
		{flag: "uuid", help: "exports whose UUID begins so only, at least 8 characters; no other flag than --tenant goes with it"},
		{flag: "candidate", ofTenant: true, follows: true, help: "exports of the candidate with this id only"},
		labelFilter,
		{flag: "quarantined", boolean: true, follows: true, help: "exports in quarantine only: they break the schema"},
		{flag: "lost-documents", parameter: "lostDocuments", boolean: true,
			help: "exports that lack a document only, because it could not be fetched"},
		{flag: "late-documents", parameter: "lateDocuments", boolean: true,
			help: "exports with a document only that could not be fetched, and is tried again"},
		{flag: "redelivery", help: "exports that the redelivery of a range with this id delivered again only"},
		{flag: "status", help: "exports whose last attempt failed so only: an HTTP status such as 503, a class such as 5xx, or none for " +
			"no answer"},
		{flag: "attempts", help: "exports whose last attempt failed only, after at least so many"},
		{flag: "waiting-longer", parameter: "waitingLonger", help: "exports only that are not delivered yet, and were received longer " +
			"ago than this, such as 24h"},
		{flag: "undelivered", boolean: true, help: "exports that are not delivered yet only: pending, retrying, held, or " +
			"waiting for documents or Temporal"},
		{flag: "since", time: true, follows: true, help: "exports received since then only: a time such as 2026-11-20T12:00:00Z, or how " +
			"long ago, such as 24h"},
		{flag: "order", help: "oldest: the oldest first, not the newest"},
		{flag: "until", time: true, help: "exports received before then only, written like --since"},
	},
	columns: []string{"export", "received", "candidate", "documents", "deliveries"},
	fields:  exportFields,
	below:   printExport,
}

// exportFields are the fields of an export. Some are there only where there is something to say.
func exportFields(e *api.ExportDetail) []field {
	state, tenant := string(e.State), e.Tenant
	if e.Removed {
		tenant += " (not configured)"
	}
	switch e.State {
	case api.ExportWaiting:
		state = waits(e)
	case api.ExportFault:
		state = "our fault: " + e.Fault
	}
	quarantine := ""
	if e.Quarantined {
		quarantine = fmt.Sprintf("it breaks the schema; release it with hiregate export release %s/%s", e.Tenant, e.ID)
	}
	return slices.Concat([]field{
		{"export", inList{e.Tenant + "/" + e.ID}},
		{"uuid", e.ID},
		{"tenant", tenant},
		{"received", e.ReceivedAt},
	}, ifSet("triggered by", e.Author), []field{
		{"candidate", e.Candidate},
		{"body", fmt.Sprintf("%d bytes", e.Size)},
		{"sha256", e.SHA256},
		{"documents", inList{e.Attachments}},
		{"attachments", e.Attachments},
		{"round", e.Round},
		{"workflow", e.Workflow},
	}, ifSet("in Temporal's UI", e.WorkflowURL), ifSet("trace", e.TraceID), []field{
		{"state", terminal.State(state)},
	}, ifSet("reason", e.Reason), []field{
		{"dispatched", e.DispatchedAt},
	}, ifSet("quarantine", quarantine), ifSet("erased", e.ErasedAt), []field{
		{"deliveries", inList{terminal.Reason(standing(e))}},
	})
}

// received returns the deliveries that an integration received, the first one first.
func received(e *api.ExportDetail, integration string) (received []*api.DeliveryDetail) {
	for n, d := range e.Deliveries {
		if d.Integration == integration && d.Outcome == model.Delivered {
			received = append(received, &e.Deliveries[n])
		}
	}
	return received
}

// standing says in a few words where an export is: at each integration, in the latest round that went there.
func standing(e *api.ExportDetail) string {
	var words []string
	if e.State == api.ExportFault {
		words = append(words, "our fault: "+e.Fault)
	}
	if e.Quarantined {
		words = append(words, "in quarantine")
	}
	for _, d := range e.Deliveries {
		if !d.Current || e.Fault != "" && d.Reason == e.Fault { // which is said above
			continue
		}
		if d.Integration == "" { // there was none
			words = append(words, d.Reason)
			continue
		}
		stands := d.Integration + " " + string(d.Outcome)
		if d.Attempts > 1 {
			stands += fmt.Sprintf(" (%d attempts)", d.Attempts)
		}
		if n := len(received(e, d.Integration)); n > 1 && d.Outcome == model.Delivered {
			stands += fmt.Sprintf(" %d times", n)
		}
		if !d.Outcome.Final() && d.Reason != "" {
			stands += ": " + d.Reason
		}
		words = append(words, stands)
	}
	switch {
	case e.State == api.ExportWaiting && len(words) == 0:
		words = append(words, waits(e))
	case e.Removed:
		words = append(words, "the tenant is not configured")
	}
	if !e.ErasedAt.IsZero() {
		words = append(words, "erased")
	}
	return strings.Join(words, ", ")
}

// waits says what an export waits for that is not on its way.
func waits(e *api.ExportDetail) string {
	if e.Removed {
		return "waits for its tenant, which is not configured"
	}
	return "waits for Temporal"
}
