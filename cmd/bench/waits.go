package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const readsOfWaiting = 10

// waits measures what the gateway asks about exports that are not delivered yet, while three of ten of many exports are not:
// what it asks its database, and what the management API answers with.
func (b *bench) waits() error {
	filled, err := b.database(b.onPostgres, b.dir)
	if err != nil {
		return err
	}
	if err := fill(filled, filling{exports: b.listed, waiting: 3, body: "{}"}); err != nil {
		return err
	}
	if err := b.askStore(filled); err != nil {
		return err
	}
	var tenants strings.Builder
	for n := range filledTenants {
		name := fmt.Sprint("t-", n)
		tenants.WriteString(tenant(name, "127.0.0.1:1/"+name, ""))
	}
	s, err := b.serve(options{site: gatewaySite, filled: filled, tenants: tenants.String()})
	if err != nil {
		return err
	}
	defer s.stop()
	for _, path := range []string{"/status", "/tenants/t-3/integrations/hris/health", "/tenants/t-3/integrations/hris/retry"} {
		err := b.timed("waits, GET "+path, readsOfWaiting, func() error {
			return s.read(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
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
		{"exports without a delivery, a page", func() error { _, _, err := db.ListUnfinished(ctx, 0, time.Now()); return err }},
	} {
		if err := b.timed("waits, "+one.name, readsOfWaiting, one.ask); err != nil {
			return err
		}
	}
	return nil
}
