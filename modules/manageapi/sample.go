package manageapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// sendSample sends an invented export with a document to the address at which the tenant's exports come in, signed as
// its service signs. It comes in as any other export does, and goes to all integrations of the tenant.
func sendSample(r *rest.Request) (any, error) {
	t, c := r.Tenant, r.Gateway.Config
	signing := t.WithoutEnded(r.Gateway.Now()).Secrets
	switch {
	case r.Gateway.InboundURL == nil || r.Gateway.InboundURL(t.Name) == "":
		return nil, problem.New(http.StatusConflict, "the gateway's sites do not tell at which address exports come in: send the "+
			"sample with hiregate send")
	case len(signing) == 0:
		return nil, problem.New(http.StatusConflict, "this tenant has no secret, so that nothing can come in: give it one first")
	}
	if err := mayTest(r); err != nil {
		return nil, err
	}
	id := "test-" + uuid.NewString()
	e, err := sample.Export(c.Names, id, documents.URL(c.PublicURL, sample.DocumentToken), model.Rehost, r.Gateway.Now())
	if err != nil {
		return nil, err
	}
	r.Object = model.ExportObject(e)
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	// Once it is on its way nothing cuts it off: it may be stored already.
	answer, err := c.Names.Send(context.WithoutCancel(r.Context()), c.Egress.Client(), webhook.Delivery{
		URL: r.Gateway.InboundURL(t.Name), Secret: signing[0].Reveal(), Event: webhook.EventExport, Body: e.Body,
		UUID: []byte(id), Link: e.Link, ExportContext: e.ExportContext})
	shown := api.SampleExport{UUID: id, Accepted: err == nil && answer.Acknowledged(), Status: answer.Status,
		DurationMs: milliseconds(answer.Duration)}
	switch {
	case err != nil:
		shown.Error = err.Error()
	case !shown.Accepted:
		shown.Answer = textUpTo(answer.Head, shortAnswer)
	}
	return shown, nil
}
