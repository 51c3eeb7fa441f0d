package manageapi

import (
	"context"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/delivery"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// tryIntegration sends a test export to an integration, in whatever state that is; to one that takes no exports now,
// only after its 200 to VERIFY. Nothing is stored, and neither its state nor its breaker changes with the answer.
func tryIntegration(r *rest.Request) (any, error) {
	p, err := findPlaced(r)
	if err != nil {
		return nil, err
	}
	i := p.Integration
	c := r.Gateway.Config
	id := "test-" + uuid.NewString()
	e, err := sample.Export(c.Names, id, documents.URL(c.PublicURL, sample.DocumentToken), i.Documents, r.Gateway.Now())
	if err != nil {
		return nil, err
	}
	// An attempt under way is not cut off: the partner may have it already.
	t := delivery.Try(context.WithoutCancel(tracing.FromRequest(r.Request)), c, e, i, p.status)
	shown := api.Trial{
		UUID: id, Event: t.Event, Received: t.Attempt.Fault == "", Class: t.Attempt.Fault, URL: model.URLOrigin(i.URL), Documents: i.Documents,
		Header: map[string]string{}, Body: string(t.Body), SentAt: t.Attempt.StartedAt,
		DurationMs: float64(t.Attempt.Duration.Microseconds()) / 1000, Status: t.Attempt.Status,
		Answer: textUpTo(t.Attempt.Answer, shortAnswer), Error: t.Attempt.Error,
	}
	for name, values := range t.Header {
		shown.Header[name] = values[0]
	}
	return shown, nil
}
