package documents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// An export may have ten thousand documents. They are entered, and get their addresses, in turns, between which others
// have theirs.
func TestManyDocumentsLeaveTheWriterToOthers(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	const many = 1201
	e := b.accept(strings.Split(strings.Repeat("x ", many-1)+"x", " ")...)
	turns := func(do func()) int64 {
		b.Store.Work()
		do()
		return b.Store.Work().Writes
	}
	require.Equal(t, int64(3), turns(func() {
		settled, err := b.Settled(t.Context(), e)
		require.NoError(t, err)
		require.False(t, settled)
	}))
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, docs, many)
	require.Equal(t, many-1, docs[many-1].Position)
	var body []byte
	require.Equal(t, int64(3), turns(func() { body = b.outgoing(e, model.Rehost) }))
	for n, one := range attachments(t, body) {
		token, ok := strings.CutPrefix(one.URL, b.config.PublicURL+"/documents/")
		require.True(t, ok, one.URL)
		hash, ok := documents.HashToken(token)
		require.True(t, ok, one.URL)
		d, _, err := b.Store.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, n, d.Position)
	}
}

func TestFetchedOnceAndKept(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one", "two")
	for range 3 {
		require.Equal(t, documents.Progress{Fetched: 2}, b.fetch(e))
	}
	require.Equal(t, int64(2), b.asked.Load())
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, docs, 2)
	for n, name := range []string{"one.txt", "two.txt"} {
		require.Equal(t, model.Fetched, docs[n].State)
		require.Equal(t, name, docs[n].FileName)
		require.Equal(t, "text/plain", docs[n].MediaType())
		require.Equal(t, int64(5), docs[n].Size)
	}
}

func TestFetchedByOneGatewayOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one", "two", "three")
	var group sync.WaitGroup
	for range 8 {
		own := *e
		group.Go(func() {
			p, err := b.Fetch(t.Context(), &own)
			require.NoError(t, err)
			require.Equal(t, documents.Progress{Fetched: 3}, p)
		})
	}
	group.Wait()
	require.Equal(t, int64(3), b.asked.Load())
}

func TestFetchedBySeveralGatewaysIsKeptOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one", "two", "three")
	var group sync.WaitGroup
	for range 8 {
		own := *e
		gateway := &documents.Archive{Store: b.Store, Files: b.Files, InForce: b.InForce, Now: b.Now, Log: b.Log}
		group.Go(func() {
			_, err := gateway.Fetch(t.Context(), &own)
			require.NoError(t, err)
		})
	}
	group.Wait()
	require.Equal(t, documents.Progress{Fetched: 3}, b.fetch(e))
	require.Equal(t, 3, b.kept(), "what was fetched twice was kept twice")
}

// The answer to the COMMIT that enters a document is lost: whether its row has it, only the next look tells.
func TestDocumentOutlivesALostCommit(t *testing.T) {
	t.Parallel()
	wire := storetest.NewWire(t, storetest.Postgres(t))
	b := newFixtureOn(t, wire.Address)
	e := b.accept("one")
	b.onAsked = wire.LoseCommit
	_, err := b.Fetch(t.Context(), e)
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.True(t, wire.Lost())
	require.Equal(t, documents.Progress{Fetched: 1}, b.fetch(e))
	require.Equal(t, int64(1), b.asked.Load())
	require.NoError(t, b.Sweep(t.Context(), b.clock().Add(time.Hour)))
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	file, _, err := b.Files.Open(docs[0].Blob)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// A gateway ends between the keeping of a file and the entering of its row.
func TestDocumentThatWasNotEnteredIsSweptAway(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.onAsked = cancel
	_, err := b.Fetch(ctx, b.accept("one"))
	require.ErrorIs(t, err, context.Canceled)
	left, err := b.Store.ListUploads(t.Context(), b.clock().Add(time.Second), 0, 10)
	require.NoError(t, err)
	require.Len(t, left, 1)
	_, err = b.Files.Put(t.Context(), left[0], strings.NewReader("hello"), documents.MaxSize) // it comes just in time
	require.NoError(t, err)
	require.NoError(t, b.Sweep(t.Context(), b.clock().Add(time.Second)))
	require.Zero(t, b.kept())
}

// Another process that has the database takes what it finds for left behind: a row never names a file that is gone.
func TestDocumentThatWasSweptAwayIsFetchedAgain(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one")
	b.onAsked = func() { require.NoError(t, b.Sweep(t.Context(), b.clock().Add(time.Second))) }
	_, err := b.Fetch(t.Context(), e)
	require.ErrorContains(t, err, "swept away")
	b.onAsked = nil
	require.Equal(t, documents.Progress{Fetched: 1}, b.fetch(e))
}

// What was fetched, or failed, is no upload any more.
func TestNoUploadIsLeftBehind(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store("two", http.StatusNotFound)
	b.fetch(b.accept("one", "two"))
	left, err := b.Store.ListUploads(t.Context(), b.clock().Add(time.Second), 0, 10)
	require.NoError(t, err)
	require.Empty(t, left)
}

// However many exports of one tenant wait for a service that does not answer, the documents of another are fetched.
func TestATenantWhoseServiceHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	turnedAway := make(chan documents.Progress, 200)
	for n := range cap(turnedAway) {
		e := b.accept(fmt.Sprint("hangs-", n))
		group.Go(func() {
			if p, err := b.Fetch(ctx, e); err == nil {
				turnedAway <- p
			}
		})
	}
	p := <-turnedAway
	require.Equal(t, 1, p.Missing)
	require.GreaterOrEqual(t, p.Wait, 10*time.Second, "so many would ask again at once")
	require.Equal(t, documents.Progress{Fetched: 1}, b.fetch(b.acceptFor("globex", "one")))
}

// Those that are slow don't keep a run going until it is cut off, nor others from being tried at all.
func TestDocumentsThatAreSlowHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var paths []string
	for n := range 30 {
		paths = append(paths, fmt.Sprint("slow-", n))
	}
	e := b.accept(append(paths, "one", "two")...)
	for range 4 {
		began := b.clock()
		p := b.fetch(e)
		require.Less(t, b.clock().Sub(began), 8*time.Minute)
		b.advance(p.Wait)
		if p.Fetched == 2 {
			return
		}
	}
	require.Fail(t, "they were not tried")
}

func TestRefusedThreeTimesIsGivenUp(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store("two", http.StatusNotFound)
	e := b.accept("one", "two")
	for range documents.GiveUpTries - 1 {
		p := b.fetch(e)
		require.Equal(t, 1, p.Missing)
		require.Equal(t, p.Missing, b.fetch(e).Missing, "asked before it was due")
		b.advance(p.Wait)
	}
	require.Less(t, b.clock().Sub(noon), time.Minute)
	require.Equal(t, documents.Progress{Fetched: 1, GivenUp: 1}, b.fetch(e))
	require.Equal(t, int64(1+documents.GiveUpTries), b.asked.Load())
	lost, err := b.Store.DueEventCounts(t.Context(), b.clock().Add(store.TellAfter), 10)
	require.NoError(t, err)
	require.Equal(t, []store.EventCount{{Event: model.DocumentsLost, Tenant: "acme"}}, lost, "it is to be told")
	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Contains(t, docs[1].Reason, "404")
	require.NotContains(t, docs[1].Reason, "two", "the address of a document is a credential")
}

// A service that starts anew may answer 502 for a while, and then 404 once: those before count for nothing towards
// giving up.
func TestOnlyRefusalsCountTowardsGivingUp(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		b := newFixtureOn(t, address)
		e := b.accept("one")
		for _, status := range []int{http.StatusBadGateway, http.StatusNotFound, http.StatusBadGateway,
			http.StatusTooManyRequests, http.StatusForbidden} {
			b.status.Store("one", status)
			p := b.fetch(e)
			require.Equal(t, 1, p.Missing, status)
			b.advance(p.Wait)
		}
		b.status.Store("one", http.StatusNotFound)
		require.Equal(t, documents.Progress{GivenUp: 1}, b.fetch(e))
		docs, err := b.Store.ListDocuments(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, []int{6, 3}, []int{docs[0].Tries, docs[0].Refusals})
	})
}

func TestTriedUntilItsURLEnds(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.status.Store("one", http.StatusServiceUnavailable)
	e := b.accept("one")
	for {
		p := b.fetch(e)
		if p.Missing == 0 {
			require.Equal(t, documents.Progress{GivenUp: 1}, p)
			break
		}
		require.LessOrEqual(t, p.Wait, 144*time.Second)
		b.advance(p.Wait)
	}
	require.WithinDuration(t, noon.Add(model.DocumentWindow), b.clock(), time.Second)
	require.Greater(t, b.asked.Load(), int64(60))
}

func TestNotAskedForAfterItsURLEnded(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one")
	b.advance(model.DocumentWindow)
	require.Equal(t, documents.Progress{GivenUp: 1}, b.fetch(e))
	require.Zero(t, b.asked.Load())
}

func TestAddressRefusedByEgressIsGivenUpAtOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.config.Egress = egress.New(egress.Policy{})
	require.Equal(t, documents.Progress{GivenUp: 1}, b.fetch(b.accept("one")))
	require.Zero(t, b.asked.Load())
}

func TestRehostedBodyIsMadeOnceAndDiffersInItsURLsAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	e := b.accept("one", "two")
	original := string(e.Body)
	bodies := make([][]byte, 8)
	var group sync.WaitGroup
	for n := range bodies {
		own := *e
		group.Go(func() {
			var err error
			bodies[n], err = b.OutgoingBody(t.Context(), &own, model.Rehost)
			require.NoError(t, err)
		})
	}
	group.Wait()
	for _, body := range bodies {
		require.Equal(t, bodies[0], body, "two attempts would send different bytes")
	}
	var parsed struct {
		Candidate struct {
			Profiles []struct{ Attachments []struct{ URL string } }
		}
	}
	require.NoError(t, json.Unmarshal(bodies[0], &parsed))
	back := string(bodies[0])
	for n, attachment := range parsed.Candidate.Profiles[0].Attachments {
		token, ok := strings.CutPrefix(attachment.URL, "https://gate.example/documents/")
		require.True(t, ok, attachment.URL)
		hash, ok := documents.HashToken(token)
		require.True(t, ok)
		d, till, err := b.Store.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, n, d.Position)
		require.Equal(t, noon.Add(model.LinkWindow), till)
		back = strings.Replace(back, attachment.URL, b.service.URL+"/"+[]string{"one", "two"}[n], 1)
	}
	require.Equal(t, original, back)
}
