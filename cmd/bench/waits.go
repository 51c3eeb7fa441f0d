package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	readsOfWaiting = 10
	waitingTenants = 1000
)

// waitingPages are the pages of the console that show what waits, below its address.
var waitingPages = []string{"", "?tenant=t-3", "/integrations", "/tenants", "/redeliveries", "/exports?undelivered=true",
	"/exports?outcome=retrying&class=partner_fault", "/exports?class=data_fault", "/exports?status=503", "/exports?status=5xx&attempts=2",
	"/exports?lateDocuments=true", "/exports?waitingLonger=24h", "/exports?label=region=north", "/exports?label=region=north&status=5xx", "/tenants/t-3/integrations/hris"}

// waits measures what the gateway asks about exports that are not delivered yet, while three of ten of many exports are not:
// of a thousand tenants whose integrations fail: what it asks its database, what the management API answers with, and the pages
// of the console.
func (b *bench) waits() error {
	filled, err := b.database(b.onPostgres, b.dir)
	if err != nil {
		return err
	}
	if err := fill(filled, filling{exports: b.listed, tenants: waitingTenants, waiting: 3, body: "{}"}); err != nil {
		return err
	}
	if err := fail(filled); err != nil {
		return err
	}
	if err := b.askStore(filled); err != nil {
		return err
	}
	var tenants strings.Builder
	for n := range waitingTenants {
		name := fmt.Sprint("t-", n)
		labels := "\nlabels region=" + []string{"north", "south", "west"}[n%3] + "\n"
		tenants.WriteString(strings.Replace(tenant(name, "127.0.0.1:1/"+name, ""), "\n", labels, 1))
	}
	s, err := b.serve(options{site: consoleSite, filled: filled, tenants: tenants.String()})
	if err != nil {
		return err
	}
	defer s.stop()
	for _, path := range []string{"/status", "/status?grouped=true&limit=50", "/failures", "/overview", "/tenants/t-3/integrations/hris/health", "/tenants/t-3/integrations/hris/retry"} {
		err := b.timed("waits, GET "+path, readsOfWaiting, func() error {
			return s.read(path)
		})
		if err != nil {
			return err
		}
	}
	operator, err := s.operator()
	if err != nil {
		return err
	}
	for _, path := range waitingPages {
		if err := b.timed("waits, /console"+path, readsOfWaiting, func() error {
			_, err := get(operator, "http://"+s.address+"/console"+path)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// fail has the last attempts at the integrations fail, in three ways.
func fail(address string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Write(ctx, func(tx *store.Tx) error {
		for n := range waitingTenants {
			status := []int{500, 502, 503}[n%3]
			for range model.FailingAfter {
				tx.CountAttempt(model.Place{Tenant: fmt.Sprint("t-", n), Integration: "hris"}, int64(n), &model.Attempt{Status: status,
					StartedAt: time.Now(), Fault: model.ClassPartnerFault, Error: fmt.Sprintf("answered %d; only 2xx means received", status)})
			}
		}
		return nil
	})
}

// listed reads a page of exports, and counts them.
func listed(ctx context.Context, db *store.DB, f store.ExportFilter) func() error {
	return func() error {
		if _, _, err := db.ListExports(ctx, f); err != nil {
			return err
		}
		_, _, err := db.CountExports(ctx, f)
		return err
	}
}

// askStore measures the questions themselves.
func (b *bench) askStore(address string) error {
	ctx := context.Background()
	db, err := store.Open(ctx, address, store.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	at := model.Place{Tenant: "t-3", Integration: "hris"}
	for _, one := range []struct {
		name string
		ask  func() error
	}{
		{"exports settled, a page", func() error { _, err := db.LookUnsettled(ctx, 0); return err }},
		{"deliveries that wait", func() error { _, err := db.CountUndelivered(ctx, time.Now()); return err }},
		{"integrations with held deliveries", func() error { _, err := db.ListHeldPlaces(ctx); return err }},
		{"backlog", func() error { _, _, err := db.Backlog(ctx); return err }},
		{"oldest that waits for Temporal", func() error { _, err := db.OldestWaiting(ctx); return err }},
		{"deliveries to catch up", func() error { _, _, err := db.CountWaiting(ctx, at, time.Now()); return err }},
		{"deliveries overdue, a page", func() error {
			_, err := db.ListOverdue(ctx, model.Retrying, time.Now(), time.Hour, 0, 200)
			return err
		}},
		{"exports that 503 answered, a page and counted", listed(ctx, db, store.ExportFilter{Status: "503"})},
		{"of a tenant, few of many that 5xx answered", listed(ctx, db, store.ExportFilter{Tenant: at.Tenant, Status: "507"})},
		{"few of many that 5xx answered", listed(ctx, db, store.ExportFilter{Status: "507"})},
		{"few of many, after nine attempts", listed(ctx, db, store.ExportFilter{Attempts: 9})},
		{"undelivered, and 5xx answered", listed(ctx, db, store.ExportFilter{Undelivered: true, Status: "5xx"})},
		{"none that fits, of an integration", listed(ctx, db, store.ExportFilter{Tenant: at.Tenant, Integration: at.Integration,
			Status: "599", Outcome: model.Retrying})},
		{"documents still to be fetched", func() error { _, _, err := db.ListUnfetched(ctx, ""); return err }},
		{"documents lost in a day", func() error { _, err := db.CountLost(ctx, "", time.Now().Add(-24*time.Hour)); return err }},
		{"exports without a delivery, a page", func() error { _, _, err := db.ListUnfinished(ctx, 0, time.Now()); return err }},
	} {
		if err := b.timed("waits, "+one.name, readsOfWaiting, one.ask); err != nil {
			return err
		}
	}
	return nil
}
