package gateway

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// slow is a Temporal whose answer to a start does not come.
type slow struct {
	client.Client
	asked func()
}

func (s slow) ExecuteWorkflow(
	ctx context.Context, _ client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	s.asked()
	<-ctx.Done()
	return nil, ctx.Err()
}

// Verifications that take long to be started are no reason to hold back what is to be released.
func TestReleasesWaitForNoVerification(t *testing.T) {
	t.Parallel()
	r, database := newRuntime(t)
	asked := make(chan struct{})
	r.client = slow{r.client, sync.OnceFunc(func() { close(asked) })}
	r.attributes.Store(true)
	open := model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s", Verify: true}
	unverified := model.Integration{Tenant: "acme", Name: "crm", URL: "https://crm.example/in", Secret: "s", Verify: true}
	r.InForce.Push(&config.Config{Tenants: map[string]*model.Tenant{"acme": {Name: "acme",
		Integrations: []model.Integration{open, unverified}}}})
	require.NoError(t, r.Start(t.Context()))
	write := func(fn func(*store.Tx) error) { require.NoError(t, r.Store().Write(t.Context(), fn)) }
	write(func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&open, store.IntegrationStatus{State: model.Configured, UpdatedAt: time.Now()})
	})
	r.workersUp.Store(true)
	<-asked

	e := inbox.NewExport("acme", "u-1", []byte(`{}`), time.Now())
	write(func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		if err := tx.MarkDispatched(e.ID, 0, time.Now(), "hris"); err != nil {
			return err
		}
		return tx.UpsertDelivery(&model.Delivery{ExportID: e.ID, Tenant: "acme", Integration: "hris", Outcome: model.Held,
			Parked:    true,
			HeldSince: time.Now(), CreatedAt: time.Now(), UpdatedAt: time.Now()})
	})
	require.Eventually(t, func() bool {
		d, err := r.Store().Delivery(t.Context(), e.ID, "hris", 1)
		return err == nil && !d.Parked
	}, 3*tendEvery, 50*time.Millisecond, "it was not released")
	require.NoError(t, r.Destruct())
	require.NoError(t, database.Destruct())
}
