package manageapi

import (
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/workflows/export"
)

// stateOf says where an export is on its way to Temporal.
func stateOf(e *model.Export) api.ExportState {
	switch {
	case e.Fault != "":
		return api.ExportFault
	case e.DispatchedAt.IsZero():
		return api.ExportWaiting
	}
	return api.ExportDispatched
}

func itemOf(r *rest.Request, e *model.Export) api.Export {
	_, configured := r.Gateway.Config.Tenant(e.Tenant)
	item := api.Export{
		ID: e.Key, Tenant: e.Tenant, Removed: !configured, ReceivedAt: e.ReceivedAt, Origin: e.Origin, Candidate: e.CandidateID,
		Attachments: e.Attachments, Size: e.Size,
		SHA256: hex.EncodeToString(e.SHA256[:]), Round: e.Round, Workflow: e.WorkflowID, TraceID: e.TraceID(),
		State:        stateOf(e),
		DispatchedAt: e.DispatchedAt, Fault: e.Fault,
		Quarantined: e.Quarantined, Findings: e.Findings, ErasedAt: e.ErasedAt,
		Deliveries: []api.Delivery{},
	}
	if item.State == api.ExportWaiting {
		item.Reason = r.Gateway.Runtime.Dispatcher.Undispatched(e, r.Gateway.Config)
		item.Why = model.ParseReason(item.Reason)
	}
	return item
}

func deliveryOf(d *model.Delivery) api.Delivery {
	return api.Delivery{
		Integration: d.Integration, Round: d.Round, Outcome: d.Outcome, Class: d.Class(), Attempts: d.Attempts,
		Reason: d.Reason, Why: model.ParseReason(d.Reason),
		UpdatedAt: d.UpdatedAt, NextAt: d.NextAt, BegunBy: d.BegunBy, Redelivery: d.Redelivery,
	}
}

func attemptOf(a model.Attempt, of answers) api.Attempt {
	shown := api.Attempt{
		Number: a.Number, StartedAt: a.StartedAt, DurationMs: milliseconds(a.Duration), Status: a.Status,
		Error: a.Error, Why: model.ParseReason(a.Error), Answer: of.toExport(a.Answer, maxAnswer),
		Header: of.text(a.Header, maxAnswer), Address: a.Address, Manual: a.Manual,
		Phases: phasesOf(a.Phases),
	}
	switch {
	case a.Status == 0:
	case a.Status/100 == 2 && a.Error == "":
		shown.Class = model.ClassDelivered
	default:
		shown.Class = model.FaultOf(a.Status)
	}
	return shown
}

func phasesOf(p model.Phases) api.AttemptPhases {
	return api.AttemptPhases{DNS: milliseconds(p.DNS), Connect: milliseconds(p.Connect), TLS: milliseconds(p.TLS),
		FirstByte: milliseconds(p.FirstByte)}
}

// waitingOf is deliveryOf for one of all deliveries of an export, which are ordered by round. It says what a delivery
// waits for that is not final.
func waitingOf(e *model.Export, d *model.Delivery, all []*model.Delivery, waits *export.Waits) api.Delivery {
	shown := deliveryOf(d)
	shown.Current = d == model.LatestDelivery(all, d.Integration)
	if !d.Outcome.Final() {
		wait := waits.For(e, d)
		shown.Reason, shown.Why, shown.NextAt = wait.Reason, model.ParseReason(wait.Reason), wait.NextAt
	}
	return shown
}

// exportOf returns the export that the path names, also of a removed tenant.
func exportOf(r *rest.Request) (*model.Export, error) {
	err := store.ErrNotFound
	var e *model.Export
	if uuid, ok := webhook.KeyOfSegment(r.PathValue("uuid")); ok {
		e, err = r.DB.ExportByKey(r.Context(), r.PathValue("tenant"), uuid)
	}
	if errors.Is(err, store.ErrNotFound) {
		if _, err := r.ConfiguredTenant(); err != nil {
			return nil, err
		}
		return nil, noExport
	}
	if err == nil {
		r.Object = model.ExportObject(e)
	}
	return e, err
}

var noExport = problem.New(http.StatusNotFound, "this tenant has no export of that UUID")

func findExport(r *rest.Request) (any, error) {
	e, err := exportOf(r)
	if err != nil {
		return nil, err
	}
	return detailOf(r, e)
}

// detailOf returns an export with all that is shown of it.
func detailOf(r *rest.Request, e *model.Export) (detail api.ExportDetail, err error) {
	deliveries, err := r.DB.ListDeliveries(r.Context(), e.ID)
	if err != nil {
		return detail, err
	}
	waits, err := r.Gateway.Runtime.Waits(r.Context(), r.Gateway.Config, r.Now(), e)
	if err != nil {
		return detail, err
	}
	detail = api.ExportDetail{Export: itemOf(r, e), Deliveries: []api.DeliveryDetail{},
		Documents: []api.ExportDocument{}, DocumentsTill: e.DocumentsTill, DeliverTill: e.DeliverTill}
	triggers, err := r.DB.ListExportTriggers(r.Context(), []int64{e.ID})
	if err != nil {
		return detail, err
	}
	detail.JobApplication, detail.Step = triggers[e.ID].Application, triggers[e.ID].Step
	if at := r.Gateway.Config.Workflows; at != "" && !e.DispatchedAt.IsZero() {
		detail.WorkflowURL = at + url.PathEscape(e.WorkflowID)
	}
	for _, d := range deliveries {
		attempts, err := r.DB.ListAttempts(r.Context(), d.ID)
		if err != nil {
			return detail, err
		}
		one := api.DeliveryDetail{Delivery: waitingOf(e, d, deliveries, waits), History: []api.Attempt{}}
		answers := answersOf(r, d.Tenant, d.Integration)
		for _, a := range attempts {
			one.History = append(one.History, attemptOf(a, answers))
		}
		detail.Deliveries = append(detail.Deliveries, one)
	}
	documents, err := r.DB.ListDocuments(r.Context(), e.ID)
	if err != nil {
		return detail, err
	}
	for _, d := range documents {
		if d.State == model.Fetched {
			detail.Fetched++
		}
		detail.Documents = append(detail.Documents, exportDocumentOf(d))
	}
	about := store.AuditFilter{Tenant: e.Tenant, Object: model.ExportObject(e)}
	if detail.Audit, _, err = r.DB.ListAudit(r.Context(), about); err != nil || e.Origin != model.Triggered {
		return detail, err
	}
	about.Action, about.Limit = model.ActionExport, 1
	triggered, _, err := r.DB.ListAudit(r.Context(), about)
	if err == nil && len(triggered) > 0 {
		detail.Author = &triggered[0].Author
	}
	return detail, err
}

func exportDocumentOf(d *model.Document) api.ExportDocument {
	shown := api.ExportDocument{
		Position: d.Position, State: d.State, Reason: d.Reason,
		Why: model.ParseReason(d.Reason), Tries: d.Tries, Size: d.Size, MimeType: d.MediaType(),
		SHA256: hex.EncodeToString(d.SHA256), BegunAt: d.CreatedAt, NextAt: d.NextAt,
		FetchedAt: d.FetchedAt, LostAt: d.LostAt,
	}
	switch {
	case d.OurFault:
		shown.Fault = "ours"
	case d.Reason != "" && (d.State == model.Fetching || !d.LostAt.IsZero()):
		shown.Fault = "service"
	}
	return shown
}
