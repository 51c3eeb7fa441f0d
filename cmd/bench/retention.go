package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/store"
)

const perSecondBeside = 200 // exports that come while old ones are deleted

// retention measures how old exports are deleted, and how long acknowledgements take meanwhile. A gateway begins with
// that a minute after its start: until then, acknowledgements are measured without it.
func (b *bench) retention() error {
	filled, err := b.database(b.onPostgres, b.dir)
	if err != nil {
		return err
	}
	if err := fill(filled, filling{exports: b.aged, age: 401 * 24 * time.Hour, body: string(b.full)}); err != nil {
		return err
	}
	before, err := size(filled)
	if err != nil {
		return err
	}
	f, err := b.newFlow(flowOptions{tenants: 1, filled: filled})
	if err != nil {
		return err
	}
	defer f.close()
	alone, err := f.paced(b, func(deleted float64) bool { return deleted == 0 })
	if err != nil {
		return err
	}
	beside, err := f.paced(b, func(deleted float64) bool { return deleted < float64(b.aged) })
	if err != nil {
		return err
	}
	after, err := f.server.metric("hiregate_database_bytes")
	if err != nil {
		return err
	}
	return report("retention, "+nameOf(b.onPostgres), struct {
		Exports  int     `json:"exports"`
		Deleted  float64 `json:"deletedPerSecond"`
		Came     int     `json:"cameMeanwhile"`
		Rate     float64 `json:"acknowledgedPerSecond"`
		P50      float64 `json:"p50Seconds"`
		P99      float64 `json:"p99Seconds"`
		AloneP50 float64 `json:"p50SecondsBefore"`
		AloneP99 float64 `json:"p99SecondsBefore"`
		Before   int64   `json:"bytesBefore"`
		After    float64 `json:"bytesAfter"` // with those that came
	}{b.aged, float64(b.aged) / beside.Seconds, alone.Requests + beside.Requests, beside.rate(), beside.P50.Seconds(),
		beside.P99.Seconds(), alone.P50.Seconds(), alone.P99.Seconds(), before, after})
}

// size reads the size of a database in bytes.
func size(address string) (int64, error) {
	db, err := store.Open(context.Background(), address, store.Options{})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return db.Size(context.Background())
}

// paced sends exports for as long as more says of how many exports the server has deleted.
func (f *flow) paced(b *bench, more func(deleted float64) bool) (result, error) {
	const senders = 16
	s, err := dial(f.server.address, signed(b.body), senders)
	if err != nil {
		return result{}, err
	}
	defer s.close()
	var done atomic.Bool
	go func() {
		for deleted := 0.0; more(deleted); time.Sleep(100 * time.Millisecond) {
			if n, err := f.server.metric("hiregate_exports_deleted_total"); err == nil {
				deleted = n
			}
		}
		done.Store(true)
	}()
	began := time.Now()
	ask := func(connection, n int) (string, []byte) {
		time.Sleep(time.Until(began.Add(time.Duration(n*senders+connection) * time.Second / perSecondBeside)))
		return "/hooks/t0", b.body
	}
	return s.loadWhile(ask, http.StatusAccepted, func(int) bool { return !done.Load() })
}
