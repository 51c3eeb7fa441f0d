package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// waits measures what the gateway asks about exports that are not delivered yet, while three of ten of many exports are not:
// what it asks its database, and what the management API answers with.
func (b *bench) waits() error {
	filled, err := b.database(b.onPostgres, b.dir)
	if err != nil {
		return err
	}
	if err := fill(filled, b.listed, 3); err != nil {
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
		err := b.timed("GET "+path, func() error {
			return s.read(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
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
		{"exports settled, a page", func() error { _, _, err := db.ListSettled(ctx, 0); return err }},
		{"deliveries that wait", func() error { _, err := db.CountUndelivered(ctx); return err }},
		{"integrations with held deliveries", func() error { _, err := db.ListHeldPlaces(ctx); return err }},
		{"backlog", func() error { _, _, err := db.Backlog(ctx); return err }},
		{"oldest that waits for Temporal", func() error { _, err := db.OldestWaiting(ctx); return err }},
		{"deliveries to catch up", func() error { _, _, err := db.CountWaiting(ctx, at, time.Now()); return err }},
		{"deliveries overdue, a page", func() error {
			_, err := db.ListOverdue(ctx, model.Retrying, time.Now(), time.Hour, 0, 200)
			return err
		}},
		{"exports without a delivery, a page", func() error { _, _, err := db.ListUnfinished(ctx, 0, time.Now()); return err }},
	} {
		if err := b.timed(one.name, one.ask); err != nil {
			return err
		}
	}
	return nil
}

// timed measures a question that is asked ten times.
func (b *bench) timed(name string, ask func() error) error {
	took := make([]time.Duration, 10)
	for n := range took {
		began := time.Now()
		if err := ask(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took[n] = time.Since(began)
	}
	r := resultOf(took, 0, 0)
	return report("waits, "+name, struct {
		Exports int     `json:"exports"`
		P50     float64 `json:"p50Seconds"`
		P99     float64 `json:"p99Seconds"`
	}{b.listed, r.P50.Seconds(), r.P99.Seconds()})
}
