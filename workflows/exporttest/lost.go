package exporttest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Held accepts an export, has its workflow run, and its delivery to hris wait at a closed gate.
func (b *LossFixture) Held(key string) *model.Export {
	b.T.Helper()
	e := b.Dispatched(key, "hris")
	_, _, class := b.DeliverOnce(e)
	require.Equal(b.T, string(model.ClassHeld), class)
	b.Temporal.Running["export/acme/"+key] = Waiting()
	return e
}

func (b *LossFixture) Tend() []string {
	b.T.Helper()
	b.Temporal.Hurried = nil
	require.NoError(b.T, b.Watcher.TendHeld(b.T.Context()))
	return b.Temporal.Hurried
}

// LossFixture is a fixture with a Temporal of its own, whose tenant has a second integration.
type LossFixture struct {
	*Fixture
	Temporal *Engine
	Watcher  Begun
}

func NewLossFixture(t *testing.T) *LossFixture {
	b := &LossFixture{Fixture: NewFixture(t), Temporal: &Engine{Running: map[string][]*workflow.PendingActivityInfo{}, Ended: map[string]enums.WorkflowExecutionStatus{}}}
	acme := b.Config.Tenants["acme"]
	acme.Integrations = append(acme.Integrations, model.Integration{Tenant: "acme", Name: "crm", URL: b.Partner.URL + "/crm", Secret: "s"})
	b.Watcher = b.Redeliverer()
	b.Watcher.Reconciler.Client = EngineClient{Service: b.Temporal}
	return b
}

// Dispatched accepts an export and has its workflow run, towards integrations.
func (b *LossFixture) Dispatched(key string, integrations ...string) *model.Export {
	b.T.Helper()
	e := b.Accept(key)
	b.Mark(e, integrations...)
	return e
}

func (b *LossFixture) Mark(e *model.Export, integrations ...string) {
	b.T.Helper()
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, e.Round, b.Clock(), integrations...) }))
	b.Temporal.Running[model.WorkflowID(e.Tenant, e.Key, e.Round)] = nil
}

func (b *LossFixture) Lose(e *model.Export) {
	delete(b.Temporal.Running, model.WorkflowID(e.Tenant, e.Key, e.Round))
}

// Look lets the gateway compare once, and gives the export as it then is, and its last delivery to hris.
func (b *LossFixture) Look(e *model.Export) (*model.Export, *model.Delivery) {
	b.T.Helper()
	require.NoError(b.T, b.Watcher.FindLost(b.T.Context()))
	now, err := b.Store.Export(b.T.Context(), e.ID)
	require.NoError(b.T, err)
	all, err := b.Store.ListDeliveries(b.T.Context(), e.ID)
	require.NoError(b.T, err)
	var last *model.Delivery
	for _, d := range all {
		if d.Integration == "hris" {
			last = d
		}
	}
	return now, last
}

// Quarantined accepts an export that breaks the schema, has its workflow run, and its delivery to hris held for it.
func (b *LossFixture) Quarantined(key string) *model.Export {
	b.T.Helper()
	e := b.Take(key, `{}`, func(e *model.Export) { e.Quarantined, e.Findings = true, []byte("[]") })
	b.Mark(e, "hris", "crm")
	_, _, class := b.DeliverOnce(e)
	require.Equal(b.T, string(model.ClassHeld), class)
	b.Temporal.Running["export/acme/"+key] = Waiting()
	return e
}

// Delivered accepts an export that is then delivered to hris.
func (b *LossFixture) Delivered(key string) *model.Export {
	b.T.Helper()
	e := b.Dispatched(key, "hris")
	res, _, _ := b.DeliverOnce(e)
	require.Equal(b.T, model.ClassDelivered, res.Class)
	return e
}

// Retrying accepts an export whose first attempt at hris fails.
func (b *LossFixture) Retrying(key string) *model.Export {
	b.T.Helper()
	b.Status.Store(http.StatusInternalServerError)
	e := b.Dispatched(key, "hris")
	_, _, class := b.DeliverOnce(e)
	require.Equal(b.T, string(model.ClassPartnerFault), class)
	return e
}
