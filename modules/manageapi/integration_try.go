package manageapi

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/workflows/export"
)

// trial is what came of a test export, and what was sent.
type trial struct {
	UUID       string             `json:"uuid"` // begins with test-
	Received   bool               `json:"received"`
	Class      model.Class        `json:"class,omitempty"` // who has to look at it; absent: it was received
	URL        string             `json:"url"`             // scheme and host only
	Documents  model.DocumentMode `json:"documents"`
	Header     map[string]string  `json:"header"` // of the request
	Body       string             `json:"body"`   // all that it holds is invented
	SentAt     time.Time          `json:"sentAt"`
	DurationMs float64            `json:"durationMs"`
	Status     int                `json:"status,omitzero"` // absent: no answer came
	Answer     string             `json:"answer"`          // its head, at most 4 KiB
	Error      string             `json:"error,omitempty"` // why it was not received
}

// tryIntegration sends a test export to an integration, in whatever state that is. Nothing is stored, and neither its
// state nor its breaker changes with the answer.
func tryIntegration(r *request) (any, error) {
	p, err := findPlaced(r)
	if err != nil {
		return nil, err
	}
	i := p.Integration
	c := r.gateway.Config
	id := "test-" + uuid.NewString()
	e, err := sample.Export(c.Names, id, documents.URL(c.PublicURL, sample.DocumentToken), i.Documents, r.gateway.Now())
	if err != nil {
		return nil, err
	}
	// An attempt under way is not cut off: the partner may have it already.
	t := export.Try(context.WithoutCancel(r.Context()), c, e, i, p.status.ByFormer)
	shown := trial{
		UUID: id, Received: t.Attempt.Fault == "", Class: t.Attempt.Fault, URL: origin(i.URL), Documents: i.Documents,
		Header: map[string]string{}, Body: string(e.Body), SentAt: t.Attempt.StartedAt,
		DurationMs: float64(t.Attempt.Duration.Microseconds()) / 1000, Status: t.Attempt.Status,
		Answer: textUpTo(t.Attempt.Answer, shortAnswer), Error: t.Attempt.Error,
	}
	for name, values := range t.Header {
		shown.Header[name] = values[0]
	}
	return shown, nil
}
