package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	filledTenants = 10 // t-0, t-1, …, unless there are to be more
	fillBatch     = 1000
)

// filling describes stored exports.
type filling struct {
	exports int
	tenants int           // 0: filledTenants
	waiting int           // of ten exports of a tenant
	age     time.Duration // of the last one
	body    string
}

// fill stores exports in an empty database, with one delivery and one attempt each: of some tenants, which have a
// thousand candidates together, or each of ten. Deliveries of those that wait are held, retrying or not attempted yet. Of the others one
// delivery in a thousand failed. They came one a second.
func fill(address string, f filling) error {
	ctx := context.Background()
	db, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	f.tenants = cmp.Or(f.tenants, filledTenants)
	began := time.Now()
	first := began.UTC().Truncate(time.Second).Add(-f.age - time.Duration(f.exports)*time.Second)
	for n := 0; n < f.exports; n += fillBatch {
		if err := f.insertBatch(ctx, db, n, first); err != nil {
			return err
		}
		if n%100_000 == 0 && n > 0 {
			say("  %d exports after %s", n, time.Since(began).Round(time.Second))
		}
	}
	return nil
}

func (f filling) insertBatch(ctx context.Context, db *store.DB, from int, first time.Time) error {
	ids := make([]int64, 0, fillBatch)
	err := db.Write(ctx, func(tx *store.Tx) error {
		for n := from; n < from+fillBatch; n++ {
			at := first.Add(time.Duration(n) * time.Second)
			id := at.UnixMicro() << 10
			ids = append(ids, id)
			tenant, key := fmt.Sprint("t-", n%f.tenants), fmt.Sprint("u-", n)
			e := &model.Export{ID: id, Tenant: tenant, Key: key, Keyed: true, Origin: model.Received,
				SHA256: sha256.Sum256([]byte(key)), CandidateID: fmt.Sprint("c-", n/10%1000), Receipt: model.NewReceipt(id),
				ReceivedAt: at, DocumentsTill: at, DeliverTill: at.Add(model.DeliveryWindow), Body: []byte(f.body),
				Size:       int64(len(f.body)),
				WorkflowID: model.WorkflowID(tenant, key, 0)}
			if _, err := tx.InsertExport(e); err != nil {
				return err
			}
			if err := tx.MarkDispatched(id, 0, at, "hris"); err != nil {
				return err
			}
			d := &model.Delivery{ExportID: id, Tenant: tenant, Integration: "hris", Outcome: model.Delivered, CreatedAt: at,
				UpdatedAt: at}
			switch of := n / f.tenants % 10; {
			case of < f.waiting && n%3 == 0:
				continue
			case of < f.waiting && n%3 == 1:
				d.Outcome, d.HeldSince, d.Fault, d.Attempts, d.Status = model.Held, at, model.ClassPartnerFault, 1, 503
			case of < f.waiting:
				d.Outcome, d.Fault, d.Attempts, d.NextAt = model.Retrying, model.ClassPartnerFault, 3, time.Now().Add(time.Hour)
				if d.Status = 503; n < f.exports/100 {
					d.Status, d.Attempts = 507, 9 // they are the oldest, and few
				}
			case n%1000 == 93: // of t-3
				d.Outcome, d.Fault, d.Attempts, d.Status = model.Failed, model.ClassPartnerFault, 1, 422
			}
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
			if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: at, Status: 200}); err != nil {
				return err
			}
		}
		return nil
	})
	for few := range slices.Chunk(ids, store.MaxPage) {
		if err == nil {
			err = db.Write(ctx, func(tx *store.Tx) error { return tx.SettleExports(few) })
		}
	}
	return err
}
