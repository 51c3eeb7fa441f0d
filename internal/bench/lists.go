package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// listed is how long the pages of a list took, over a number of exports.
type listed struct {
	Exports int
	Times   map[string][2]time.Duration // p50 and p99, by list
}

// theLists are the lists that are measured, each with a page of 50.
var theLists = []struct {
	name   string
	filter store.ExportFilter
}{
	{"all", store.ExportFilter{}},
	{"tenant", store.ExportFilter{Tenant: "t-3"}},
	{"candidate", store.ExportFilter{Tenant: "t-3", Candidate: "c-13"}},
	{"failed", store.ExportFilter{Tenant: "t-3", Outcome: model.Failed}},
	{"integration", store.ExportFilter{Tenant: "t-3", Integration: "hris"}},
	{"an hour", store.ExportFilter{Tenant: "t-3", Since: benchStart.Add(time.Hour), Until: benchStart.Add(2 * time.Hour)}},
}

// benchStart is when the first export came: a million of them, one a second, end today.
var benchStart = time.Now().UTC().Truncate(time.Second).Add(-1_000_000 * time.Second)

const (
	filledTenants = 10
	fillBatch     = 1000
	readsOfList   = 200
)

// lists fills a database up to each of two sizes, and reads pages at each: first ones, and ones from the middle.
func (b *bench) lists(postgres bool) (all []listed, err error) {
	address, err := b.database(postgres, b.dir)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	db, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	n := 0
	for _, size := range []int{10_000, b.listed} {
		if err := fillUp(ctx, db, n, size); err != nil {
			return nil, err
		}
		n = size
		one := listed{Exports: size, Times: map[string][2]time.Duration{}}
		for _, l := range theLists {
			if one.Times[l.name], err = measureList(ctx, db, l.filter, size); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// fillUp adds exports to a database of n, until it has as many as size.
func fillUp(ctx context.Context, db *store.DB, n, size int) error {
	began := time.Now()
	for ; n < size; n += fillBatch {
		if err := fill(ctx, db, n); err != nil {
			return err
		}
		if n%100_000 == 0 && n > 0 {
			say("  %d exports after %s", n, time.Since(began).Round(time.Second))
		}
	}
	return nil
}

// fill adds a batch of exports with a delivery each: of ten tenants, a thousand candidates each, one delivery in a
// thousand failed, one export a second.
func fill(ctx context.Context, db *store.DB, from int) error {
	ids := make([]int64, 0, fillBatch)
	err := db.Write(ctx, func(tx *store.Tx) error {
		for n := from; n < from+fillBatch; n++ {
			at := benchStart.Add(time.Duration(n) * time.Second)
			id := at.UnixMicro() << 10
			ids = append(ids, id)
			tenant, key := fmt.Sprint("t-", n%filledTenants), fmt.Sprint("u-", n)
			e := &model.Export{ID: id, Tenant: tenant, Key: key, Keyed: true, Origin: model.Received,
				SHA256:      sha256.Sum256([]byte(key)),
				CandidateID: fmt.Sprint("c-", n/10%1000), Receipt: model.NewReceipt(id), ReceivedAt: at, DocumentsTill: at,
				DeliverTill: at,
				Body:        []byte("{}"), WorkflowID: model.WorkflowID(tenant, key, 0)}
			if _, err := tx.InsertExport(e); err != nil {
				return err
			}
			if err := tx.MarkDispatched(id, 0, at); err != nil {
				return err
			}
			d := &model.Delivery{ExportID: id, Tenant: tenant, Integration: "hris", Outcome: model.Delivered, CreatedAt: at,
				UpdatedAt: at}
			if n%1000 == 3 {
				d.Outcome, d.Fault = model.Failed, model.ClassPartnerFault
			}
			if err := tx.UpsertDelivery(d); err != nil {
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

func measureList(ctx context.Context, db *store.DB, f store.ExportFilter, size int) (p [2]time.Duration, err error) {
	took := make([]time.Duration, 0, readsOfList)
	middle := benchStart.Add(time.Duration(size/2)*time.Second).UnixMicro() << 10
	for n := range readsOfList {
		f.Before = int64(n%2) * middle
		began := time.Now()
		if _, _, err := db.ListExports(ctx, f); err != nil {
			return p, err
		}
		took = append(took, time.Since(began))
	}
	r := resultOf(took, 0, 0)
	return [2]time.Duration{r.P50, r.P99}, nil
}
