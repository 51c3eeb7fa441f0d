package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// Export returns the command `hiregate export`, which lists, shows, redelivers, releases and erases exports.
func Export() *cobra.Command {
	return group(&cobra.Command{
		Use:   "export",
		Short: "Lists, shows, redelivers, releases and erases exports",
		Long: `Lists, shows and redelivers the exports of a running gateway, releases them from quarantine, and
erases what they hold. After the restore of an older backup, strays are the workflows of exports that
it lacks.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate export list --tenant acme --outcome failed
  hiregate export list --undelivered --since 24h
  hiregate export show acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11
  hiregate export redeliver acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11 --integration hris`,
	}, exportList, exportShow, exportRedeliver, exportRelease, exportErase, exportStrays)
}

type exportListFlags struct {
	pages
	tenant, outcome, class, integration, candidate string
	uuid                                           string
	since, until                                   string
	quarantined, undelivered, lost                 bool
}

func exportList(a *Client) *cobra.Command {
	f := new(exportListFlags)
	f.choose = f.chosen
	cmd := &cobra.Command{
		Use:   "list [TENANT]",
		Short: "Lists exports, newest first",
		Args:  atMostTenant("export"),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.tenant, "tenant", "", "exports of this tenant only")
	fl.StringVar(&f.outcome, "outcome", "", "exports with such a delivery only: retrying, held, "+
		"delivered, failed or expired")
	fl.StringVar(&f.class, "class", "", "exports whose last attempt was such a fault only, failed ones unless --outcome "+
		"says otherwise: partner_fault, data_fault or our_fault")
	fl.StringVar(&f.integration, "integration", "", "exports that were tried or held at this integration only")
	fl.StringVar(&f.uuid, "uuid", "", "exports whose UUID begins so only, at least 8 characters; with --tenant alone")
	fl.StringVar(&f.candidate, "candidate", "", "exports of the candidate with this id only")
	fl.BoolVar(&f.quarantined, "quarantined", false, "exports in quarantine only: they break the schema")
	fl.BoolVar(&f.lost, "lost-documents", false, "exports that lack a document only, because it could not be fetched")
	fl.BoolVar(&f.undelivered, "undelivered", false, "exports that are not delivered yet only: pending, retrying, held, "+
		"or waiting for documents or Temporal")
	fl.StringVar(&f.since, "since", "", "exports received since then only: a time such as 2026-11-20T12:00:00Z, or how "+
		"long ago, such as 24h")
	fl.StringVar(&f.until, "until", "", "exports received before then only, written like --since")
	columns := []string{"export", "received", "candidate", "documents", "deliveries"}
	return listing(a, &f.pages, cmd, columns, func(e *exportRow) []any {
		return []any{e.Tenant + "/" + e.ID, e.ReceivedAt, e.Candidate, e.Attachments, terminal.Reason(e.standing())}
	})
}

// exportRow is what the tables show of an export. With --json all that the gateway answers is printed, unread.
type exportRow struct {
	ID           string        `json:"id"`
	Tenant       string        `json:"tenant"`
	Removed      bool          `json:"tenantRemoved"`
	ReceivedAt   time.Time     `json:"receivedAt"`
	Candidate    string        `json:"candidate"`
	Attachments  int           `json:"attachments"`
	Size         int64         `json:"size"`
	SHA256       string        `json:"sha256"`
	Round        int           `json:"round"`
	Workflow     string        `json:"workflow"`
	WorkflowURL  string        `json:"workflowUrl"`
	State        string        `json:"state"`
	DispatchedAt time.Time     `json:"dispatchedAt"`
	Reason       string        `json:"reason"`
	Fault        string        `json:"fault"`
	Quarantined  bool          `json:"quarantined"`
	ErasedAt     time.Time     `json:"erasedAt"`
	Deliveries   []deliveryRow `json:"deliveries"`
	Documents    []documentRow `json:"documents"`

	Author *model.Author      `json:"author"`
	Audit  []model.AuditEntry `json:"audit"`

	Findings []schemas.Finding `json:"findings"`
}

type deliveryRow struct {
	Integration string       `json:"integration"`
	Round       int          `json:"round"`
	Current     bool         `json:"current"`
	Outcome     string       `json:"outcome"`
	Class       string       `json:"class"`
	Attempts    int          `json:"attempts"`
	Reason      string       `json:"reason"`
	UpdatedAt   time.Time    `json:"updatedAt"`
	NextAt      time.Time    `json:"nextAt"`
	BegunBy     string       `json:"begunBy"`
	Redelivery  string       `json:"redelivery"`
	History     []attemptRow `json:"history"`
}

// chosen sets what the list is asked for.
func (f *exportListFlags) chosen(args []string) error {
	f.tenant = cmp.Or(f.tenant, strings.Join(args, ""))
	if f.tenant == "" && (f.candidate != "" || f.integration != "") {
		return errors.New("--candidate and --integration are names within a tenant: add --tenant")
	}
	f.path, f.query = "/v1/exports", url.Values{}
	if f.tenant != "" {
		f.path = tenantPath(f.tenant, "exports")
	}
	for name, value := range map[string]string{"outcome": f.outcome, "class": f.class,
		"integration": f.integration, "candidate": f.candidate, "uuid": f.uuid} {
		if value != "" {
			f.query.Set(name, value)
		}
	}
	for name, set := range map[string]bool{"quarantined": f.quarantined, "undelivered": f.undelivered,
		"lostDocuments": f.lost} {
		if set {
			f.query.Set(name, "true")
		}
	}
	return setTimes(f.query, f.since, f.until)
}

// setTimes adds the flags --since and --until to a query.
func setTimes(q url.Values, since, until string) error {
	now := time.Now()
	for name, text := range map[string]string{"since": since, "until": until} {
		if text == "" {
			continue
		}
		at, err := terminal.ParseTime(text, now)
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		q.Set(name, at.Format(time.RFC3339Nano))
	}
	return nil
}

// received are the deliveries that an integration received, the first one first.
func (e *exportRow) received(integration string) (received []*deliveryRow) {
	for n, d := range e.Deliveries {
		if d.Integration == integration && d.Outcome == string(model.Delivered) {
			received = append(received, &e.Deliveries[n])
		}
	}
	return received
}

// standing says in a few words where an export is: at each integration, in the latest round that went there.
func (e *exportRow) standing() string {
	var words []string
	if e.State == "fault" {
		words = append(words, "our fault: "+e.Fault)
	}
	if e.Quarantined {
		words = append(words, "in quarantine")
	}
	for _, d := range e.Deliveries {
		if !d.Current || e.Fault != "" && d.Reason == e.Fault { // which is said above
			continue
		}
		stands := d.Integration + " " + d.Outcome
		if d.Attempts > 1 {
			stands += fmt.Sprintf(" (%d attempts)", d.Attempts)
		}
		if n := len(e.received(d.Integration)); n > 1 && d.Outcome == string(model.Delivered) {
			stands += fmt.Sprintf(" %d times", n)
		}
		if o := model.Outcome(d.Outcome); !o.Final() && d.Reason != "" {
			stands += ": " + d.Reason
		}
		words = append(words, stands)
	}
	switch {
	case e.State == "waiting":
		words = append(words, e.waits())
	case e.Removed:
		words = append(words, "the tenant is not configured")
	}
	if !e.ErasedAt.IsZero() {
		words = append(words, "erased")
	}
	return strings.Join(words, ", ")
}

// waits says what an export waits for that is not on its way.
func (e *exportRow) waits() string {
	if e.Removed {
		return "waits for its tenant, which is not configured"
	}
	return "waits for Temporal"
}

// exportOf reads TENANT/UUID. A UUID is opaque and may hold slashes.
func exportOf(arg string) (path, name string, err error) {
	tenant, uuid, ok := strings.Cut(arg, "/")
	if !ok {
		return "", "", fmt.Errorf("whose export is it? write it as TENANT/%s", terminal.Printable(arg))
	}
	if err := model.ValidateTenantName(tenant); err != nil {
		return "", "", err
	}
	if uuid == "" {
		return "", "", errors.New("the UUID is missing: write the export as TENANT/UUID")
	}
	return tenantPath(tenant, "exports", webhook.KeySegment(uuid)), arg, nil
}

const (
	minUUID   = 8  // characters of a UUID that an export is found by
	wholeUUID = 36 // characters of one that needs no search
)

// findExport finds an export that is named as TENANT/UUID, or by its UUID alone, or by the begin of that: at least 8
// characters, which no other export begins with.
func (a *Client) findExport(ctx context.Context, arg string) (path, name string, err error) {
	tenant, uuid, ok := strings.Cut(arg, "/")
	list := "/v1/exports"
	switch {
	case !ok && len(arg) < minUUID:
		return "", "", fmt.Errorf("which export is %s? name it as TENANT/UUID, or by at least %d characters of its UUID",
			terminal.Printable(arg), minUUID)
	case !ok:
		uuid = arg
	case len(uuid) < minUUID || len(uuid) >= wholeUUID:
		return exportOf(arg)
	default:
		if err := model.ValidateTenantName(tenant); err != nil {
			return "", "", err
		}
		list = tenantPath(tenant, "exports")
	}
	page, err := a.page(ctx, http.MethodGet, list, url.Values{"uuid": {uuid}}, nil)
	if err != nil {
		return "", "", err
	}
	var found []string
	for _, raw := range page.Items {
		var e exportRow
		if err := json.Unmarshal(raw, &e); err != nil {
			return "", "", a.elsewhere(strange)
		}
		if found = append(found, e.Tenant+"/"+e.ID); e.ID == uuid && ok {
			found = found[len(found)-1:]
			break
		}
	}
	switch {
	case len(found) == 1:
		return exportOf(found[0])
	case len(found) == 0 && ok:
		return exportOf(arg) // the gateway says what is missing
	case len(found) == 0:
		return "", "", fmt.Errorf("there is no export whose UUID begins with %s: hiregate export list shows them",
			terminal.Printable(uuid))
	}
	slices.Sort(found)
	for n, one := range found {
		found[n] = terminal.Printable(one)
	}
	return "", "", fmt.Errorf("several exports have a UUID that begins with %s: name one of them\n  %s",
		terminal.Printable(uuid), strings.Join(found, "\n  "))
}
