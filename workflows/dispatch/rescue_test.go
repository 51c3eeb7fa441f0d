package dispatch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/workflows/dispatch"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// While Temporal is away the documents of all that waits are fetched. Neither those that can't be fetched, more than are looked at
// once, nor those of a tenant whose service does not answer hold up the others; and what could not be fetched is tried again.
func TestDocumentsAreFetchedWithoutTemporal(t *testing.T) {
	t.Parallel()
	b := exporttest.NewFixture(t)
	var well atomic.Bool
	var asked sync.Map
	var hanging atomic.Int32
	hang := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path, true)
		switch {
		case strings.HasPrefix(r.URL.Path, "/hangs") && !well.Load():
			hanging.Add(1)
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		case strings.HasPrefix(r.URL.Path, "/breaks") && !well.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"content":"aGVsbG8=","mimeType":"text/plain","fileName":"a.txt"}`)
	}))
	t.Cleanup(service.Close)
	takeFor := func(tenant, path string) *model.Export {
		return b.TakeFor(tenant, path, `{"candidate":{"profiles":[{"attachments":[{"url":"`+service.URL+`/`+path+`"}]}]}}`, func(e *model.Export) { e.Attachments = 1 })
	}
	take := func(path string) *model.Export { return takeFor("acme", path) }
	var broken []*model.Export
	for n := range 80 {
		broken = append(broken, takeFor("globex", fmt.Sprint("hangs-", n)))
	}
	b.Advance(90 * time.Second)

	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exporttest.RunUntil(ctx, &dispatch.Dispatcher{Store: b.Store, Client: temporal, InForce: b.InForce, Archive: b.Archive, Now: b.Clock,
			Log: zap.NewNop(), Attributes: new(atomic.Bool)})
	}()
	defer func() { stop(); <-ended }()
	require.Eventually(t, func() bool { return hanging.Load() >= 32 }, 30*time.Second, 50*time.Millisecond)

	for n := range 45 {
		broken = append(broken, take(fmt.Sprint("breaks-", n)))
	}
	good := []*model.Export{take("good-1"), take("good-2")}
	b.Advance(90 * time.Second)
	young := take("young")
	fetched := func(all []*model.Export) func() bool {
		return func() bool {
			for _, e := range all {
				docs, err := b.Store.ListDocuments(t.Context(), e.ID)
				if err != nil || len(docs) != 1 || docs[0].State != model.Fetched {
					return false
				}
			}
			return true
		}
	}
	require.Eventually(t, fetched(good), 30*time.Second, 50*time.Millisecond)
	_, early := asked.Load("/young")
	require.False(t, early, "Temporal was not given its minute")

	well.Store(true)
	close(hang)
	b.Advance(10 * time.Minute) // all are due again, and nobody is young
	require.Eventually(t, fetched(append(broken, young)), time.Minute, 50*time.Millisecond)
}
