package gatewaytest

import (
	"crypto/sha256"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Answered is the head of the answer to each attempt of [Fixture.Delivery].
const Answered = "what the partner answered"

// exportsMade counts the exports of all tests.
var exportsMade atomic.Int64

// Export puts an export into the store, dispatched a second after Noon. change changes it before.
func (b *Fixture) Export(t testing.TB, tenant, key string, change ...func(*model.Export)) *model.Export {
	t.Helper()
	e := inbox.NewExport(tenant, key, []byte(`{"candidate":{}}`+key), Noon)
	e.CandidateID, e.Attachments = "c-"+key, 1
	// Ids rise within a process, and another test may be ahead: a list of some hours must find it at its time.
	e.ID = model.FirstID(Noon.Add(time.Millisecond)) + exportsMade.Add(1)
	e.Receipt = model.NewReceipt(e.ID)
	for _, fn := range change {
		fn(e)
	}
	e.SHA256, e.Size = sha256.Sum256(e.Body), int64(len(e.Body))
	b.Write(t, func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		return tx.MarkDispatched(e.ID, e.Round, Noon.Add(time.Second), e.Integrations...)
	})
	return e
}

// Delivery puts a delivery of an export into the store, with an attempt for each status.
func (b *Fixture) Delivery(
	t testing.TB, e *model.Export, integration string, outcome model.Outcome, statuses ...int,
) *model.Delivery {
	t.Helper()
	d := &model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: integration, Outcome: outcome,
		Attempts: len(statuses), CreatedAt: Noon, UpdatedAt: Noon.Add(2 * time.Second)}
	if len(statuses) > 0 {
		d.Status = statuses[len(statuses)-1]
	}
	switch outcome {
	case model.Failed:
		d.Fault, d.Reason = model.ClassPartnerFault, "answered 500; only 2xx means received"
	case model.Retrying:
		d.NextAt = Noon.Add(time.Minute)
		if len(statuses) > 0 {
			d.Fault = model.ClassPartnerFault
		}
	case model.Held:
		d.HeldSince = Noon
		d.Reason = fmt.Sprintf("integration %[1]s is disabled: it answered 410; hiregate integration enable %[2]s/%[1]s "+
			"has it verified again", integration, e.Tenant)
	}
	if stored, err := b.Runtime.Store().Delivery(t.Context(), e.ID, integration, 0); err == nil { // since it was accepted
		d.ID, d.Read = stored.ID, stored.Read
	}
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.UpsertDelivery(d); err != nil {
			return err
		}
		for _, status := range statuses {
			a := &model.Attempt{DeliveryID: d.ID, StartedAt: Noon, Duration: 1500 * time.Microsecond, Status: status,
				Answer: []byte(Answered)}
			if err := tx.InsertAttempt(a); err != nil {
				return err
			}
		}
		return nil
	})
	d.Read = d.UpdatedAt
	return d
}

// Status puts the status of an integration into the store.
func (b *Fixture) Status(t testing.TB, tenant, name string, s store.IntegrationStatus) *model.Integration {
	t.Helper()
	i, ok := b.Config.Integration(tenant, name)
	require.True(t, ok)
	b.Write(t, func(tx *store.Tx) error { return tx.UpsertIntegrationStatus(i, s) })
	return i
}

// Answer does what the workflow of an export would that something is about to trigger: once the export is the latest of
// all, each of its integrations has an attempt with a status.
func (b *Fixture) Answer(t testing.TB, outcome model.Outcome, status int) {
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ; ; <-tick.C {
			page, _, err := b.Runtime.Store().ListExports(t.Context(), store.ExportFilter{Limit: 1})
			if t.Context().Err() != nil {
				return
			}
			if err == nil && len(page) == 1 {
				for _, name := range page[0].Integrations {
					b.Delivery(t, page[0], name, outcome, status)
				}
				return
			}
		}
	}()
}
