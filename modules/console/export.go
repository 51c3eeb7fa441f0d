package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/console/chart"
)

// exportPage is the template data of an export.
type exportPage struct {
	export
	Profile   bool // its candidate has a page that the visitor may see
	Structure api.ExportStructure
	Shown     *api.ExportBody // its body; nil: nobody asked for it
	// that an export without any may go to; nil: it went to some
	Others []api.IntegrationHealth
	Again  *again // a redelivery that nobody confirmed yet; nil: none was asked for
}

// again is a redelivery to integrations that received the export before. It is confirmed first.
type again struct {
	Integration string // empty: all
	Received    []api.DeliveryDetail
}

func showExport(v *visitor) error { return v.exportPage(http.StatusOK, func(*exportPage) {}) }

// uuid returns the UUID of the export that the path names.
func (v *visitor) uuid() (string, error) {
	uuid, ok := webhook.KeyOfSegment(v.PathValue("uuid"))
	if !ok {
		return "", errNotFound
	}
	return uuid, nil
}

// showBody shows an export with its body. Nothing leads on to that page: each look at a body is a POST in the audit.
func showBody(v *visitor) error {
	uuid, err := v.uuid()
	if err != nil {
		return err
	}
	var body api.ExportBody
	if err := v.post(exportAt(v.PathValue("tenant"), uuid, "body"), nil, &body); err != nil {
		return err
	}
	body.Body = indented(body.Body)
	return v.exportPage(http.StatusOK, func(shown *exportPage) { shown.Shown = &body })
}

// indented returns JSON with a line for each value; a text that is no JSON stays as it is.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}

// finding is a way in which a body breaks the schema.
type finding struct{ Pointer, Rule, Found string }

// Breaks lists the findings.
func (e *exportPage) Breaks() (all []finding) {
	if json.Unmarshal(e.Findings, &all) != nil {
		return nil
	}
	return all
}

// FindingsText returns the findings as they are stored, with a line for each value.
func (e *exportPage) FindingsText() string { return indented(string(e.Findings)) }

// exportPage shows an export, and what else is put on its page.
func (v *visitor) exportPage(status int, put func(*exportPage)) error {
	uuid, err := v.uuid()
	if err != nil {
		return err
	}
	shown, tenant := exportPage{}, v.PathValue("tenant")
	if err := v.get(exportAt(tenant, uuid), nil, &shown.export); err != nil {
		return err
	}
	if v.portal {
		shown.withoutAddresses()
	}
	if v.duties&recruits != 0 && shown.Candidate != "" { // those of received exports are seldom kept here
		err := v.get(at("tenants", tenant, "candidates", shown.Candidate), nil, nil)
		if shown.Profile = err == nil; ignoreNotFound(err) != nil {
			return err
		}
	}
	if shown.ErasedAt.IsZero() {
		err := v.get(exportAt(tenant, uuid, "structure"), nil, &shown.Structure)
		if f := new(failure); err != nil && !(errors.As(err, &f) && f.status == http.StatusGone) { // erased meanwhile
			return err
		}
	}
	if shown.unaddressed() && v.duties&redelivers != 0 {
		if shown.Others, err = v.integrationsOf(tenant); err != nil {
			return err
		}
	}
	put(&shown)
	return v.page(status, "export", "Export", &shown)
}

// triedAt has the rounds of an export at one integration.
type triedAt struct {
	*exportPage
	Tried tried
}

// Of returns the template data of what was tried at an integration.
func (e *exportPage) Of(t tried) triedAt { return triedAt{e, t} }

// Page returns the template data of the page.
func (t triedAt) Page() *exportPage { return t.exportPage }

// DocumentsByNeed returns the documents, those that are not here first.
func (e *exportPage) DocumentsByNeed() []api.ExportDocument {
	var missing, fetched []api.ExportDocument
	for _, d := range e.Documents {
		if d.State == model.Fetched {
			fetched = append(fetched, d)
		} else {
			missing = append(missing, d)
		}
	}
	return append(missing, fetched...)
}

// URLMeter draws how long the URLs of the documents still work.
func (p view) URLMeter(e *exportPage) (chart.Plot, error) {
	whole, left := e.DocumentsTill.Sub(e.ReceivedAt), e.DocumentsTill.Sub(p.Now)
	label, err := p.T("URLMeter", "left", p.Span(left), "of", p.Span(whole))
	fill := chart.Received
	if left < whole/5 {
		fill = chart.Warn
	}
	return chart.Meter(whole.Seconds(), label, chart.Share{Of: left.Seconds(), Fill: fill}), err
}

// Headline says in a sentence for each outcome how an export stands.
func (p view) Headline(e *exportPage) (string, error) {
	s := speaker{view: p}
	current := e.Current()
	switch {
	case !e.ErasedAt.IsZero():
		return s.say("HeadErased"), s.err
	case e.Quarantined:
		return s.say("HeadQuarantined"), s.err
	case e.Fault != "":
		return s.say("HeadFault"), s.err
	case len(current) == 0:
		return s.say("HeadWaits"), s.err
	case e.unaddressed():
		return s.say("HeadUnaddressed"), s.err
	}
	var sentences []string
	for _, outcome := range []model.Outcome{model.Delivered, model.Failed, model.Expired, model.Held, model.Pending} {
		var to []string
		for _, d := range current {
			if d.Outcome == outcome {
				to = append(to, d.Integration)
			}
		}
		if len(to) > 0 {
			sentences = append(sentences, s.say("Head_"+string(outcome), "integrations", s.list(to)))
		}
	}
	for _, d := range current {
		if d.Outcome == model.Retrying {
			key := "Head_retrying"
			if !p.Left(d.NextAt) {
				key = "HeadRetryingNow"
			}
			sentences = append(sentences, s.say(key, "integrations", d.Integration, "in", p.near(d.NextAt.Sub(p.Now))))
		}
	}
	if end := e.documentsEnd(p.Now); !end.IsZero() && e.late() {
		sentences = append(sentences, s.many("HeadLate", e.toFetch())+" "+s.say("HeadLateIn", "in", p.near(end.Sub(p.Now))))
	}
	if lost := e.lostDocuments(); lost > 0 {
		sentences = append(sentences, s.many("HeadLost", lost))
	}
	return strings.Join(sentences, " "), s.err
}

// unaddressed reports whether the export went to nobody: its tenant had no integration.
func (e *export) unaddressed() bool {
	current := e.Current()
	return len(current) > 0 && current[0].Integration == ""
}

// late reports whether a document was tried in vain, and is still to be fetched.
func (e *exportPage) late() bool {
	return slices.ContainsFunc(e.Documents, func(d api.ExportDocument) bool { return d.State == model.Fetching && d.Tries > 0 })
}

// Fetchable reports whether documents can be fetched now.
func (p view) Fetchable(e *exportPage) bool {
	return p.May.Operate && e.ErasedAt.IsZero() && !e.documentsEnd(p.Now).IsZero()
}

// lostDocuments counts the documents that can't be fetched any more.
func (e *exportPage) lostDocuments() (n int) {
	for _, d := range e.Documents {
		if d.State == model.GivenUp {
			n++
		}
	}
	return n
}

// APIPath returns the path of the export in the management API.
func (e *export) APIPath() string { return exportAt(e.Tenant, e.ID) }

// actOnExport redelivers, releases or erases an export.
func actOnExport(action string) handler {
	return func(v *visitor) error {
		uuid, err := v.uuid()
		if err != nil {
			return err
		}
		var body any
		if to := v.PostFormValue("integration"); action == "redeliver" && to != "" {
			body = api.RedeliverInput{Integrations: []string{to}}
		}
		if action == "erase" {
			if v.PostFormValue("sure") != "yes" {
				return &failure{status: http.StatusBadRequest, Text: "NotSure"}
			}
			body = api.EraseInput{Cancel: true}
		}
		tenant := v.PathValue("tenant")
		if action == "redeliver" && v.PostFormValue("again") != "yes" {
			asked, err := v.receivedAlready(tenant, uuid, v.PostFormValue("integration"))
			if err != nil {
				return err
			}
			if asked != nil {
				return v.exportPage(http.StatusConflict, func(shown *exportPage) { shown.Again = asked })
			}
		}
		if err := v.post(exportAt(tenant, uuid, action), body, nil); err != nil {
			return err
		}
		return v.redirect(exportPath(tenant, uuid) + "?done=" + action)
	}
}

// receivedAlready returns what an integration, or any if none is named, received of an export that it is asked to get
// again; nil: nothing, or nothing can be delivered. The page that it was asked on may be old.
func (v *visitor) receivedAlready(tenant, uuid, integration string) (*again, error) {
	var e export
	if err := v.get(exportAt(tenant, uuid), nil, &e); err != nil {
		return nil, err
	}
	asked := &again{Integration: integration}
	for _, d := range e.Current() {
		if d.Outcome == model.Delivered && (integration == "" || integration == d.Integration) {
			asked.Received = append(asked.Received, d)
		}
	}
	if len(asked.Received) == 0 || !e.ErasedAt.IsZero() { // of which the management API says why it can't be
		return nil, nil
	}
	return asked, nil
}
