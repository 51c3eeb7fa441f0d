package exporttest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

func (b *Fixture) AcceptMany(n int) (all []*model.Export, ids []int64) {
	for at := range n {
		e := b.Accept(fmt.Sprint("u-", at))
		all, ids = append(all, e), append(ids, e.ID)
	}
	return all, ids
}

// Grouped accepts exports and makes them a group that Temporal has.
func (b *Fixture) Grouped(n int) (all []*model.Export, ids []int64) {
	b.T.Helper()
	all, ids = b.AcceptMany(n)
	for _, e := range all {
		e.Integrations = []string{"hris"}
	}
	require.NoError(b.T, b.Store.Write(b.T.Context(), func(tx *store.Tx) (err error) {
		if all, err = tx.Group(all, b.Clock()); err != nil {
			return err
		}
		return tx.MarkGroupDispatched(ids[0], b.Clock())
	}))
	return all, ids
}

// DeliverGroup is DeliverAll for a group.
func (b *Fixture) DeliverGroup(ids []int64) (res []export.DeliverResult, wait time.Duration, why string) {
	b.T.Helper()
	res, wait, retry := b.DeliverAll(export.Part{Exports: ids, Began: b.Clock()})
	if retry != nil {
		why = retry.Message()
	}
	return res, wait, why
}

// RecordSideBySide is Record for a partner that is asked side by side.
func (b *Fixture) RecordSideBySide() (bodies func() []string) {
	var mu sync.Mutex
	var all []string
	b.Partner.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, string(body))
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
