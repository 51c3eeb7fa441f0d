package apply_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/apply"
)

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body := application(t, code, fine(t))
	require.Equal(t, http.StatusBadRequest, b.apply(application(t, code, []answered{}), me...).Code,
		"what was refused takes no key")
	first := b.apply(body, me...)
	id := b.requireTaken(first)
	require.Empty(t, first.Header().Get("Idempotency-Replayed"))
	again := b.apply(body, me...)
	require.Equal(t, id, b.requireTaken(again), "a repeat is the same application")
	require.Equal(t, "true", again.Header().Get("Idempotency-Replayed"))
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
	b.requireError(b.apply(body+" ", me...), http.StatusUnprocessableEntity,
		"this Idempotency-Key was sent with another application before: take a new one for each", "null")
	for _, keys := range [][]string{{""}, {"a b"}, {strings.Repeat("k", 256)}, {"a", "b"}} {
		headers := b.bearer(partner)
		for _, k := range keys {
			headers = append(headers, "Idempotency-Key", k)
		}
		b.requireError(b.apply(body, headers...), http.StatusBadRequest,
			"send one Idempotency-Key, of 1 to 255 visible ASCII characters", "null")
	}
	b.Write(t, func(tx *store.Tx) error {
		u, err := b.Runtime.Store().APIUser(t.Context(), "acme", "u-1")
		if err != nil {
			return err
		}
		u.ID, u.Name = "u-3", "second@example.com"
		return tx.InsertAPIUser(u)
	})
	other := append(b.bearer("second@example.com"), "Idempotency-Key", "k-1")
	require.NotEqual(t, id, b.requireTaken(b.apply(body, other...)), "a key is its user's own")
	b.Clock.Advance(14 * 24 * time.Hour)
	require.Equal(t, id, b.requireTaken(b.apply(body, append(b.bearer(partner), "Idempotency-Key", "k-1")...)),
		"repeats may last for two weeks")
	b.Clock.Advance(24 * time.Hour)
	require.NotEqual(t, id, b.requireTaken(b.apply(body, append(b.bearer(partner), "Idempotency-Key", "k-1")...)))
}

// Whoever has a copy of the database can't try guesses at an application's answers against what is kept of its request.
func TestKeptFingerprintsCanNotBeGuessed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := application(t, code, fine(t))
	for _, key := range []string{"k-1", "k-2"} {
		b.requireTaken(b.apply(body, append(b.bearer(partner), "Idempotency-Key", key)...))
	}
	require.Equal(t, 2, b.Fingerprints(t), "they are made of the body alone")
}

// A repeat gets the answer of before, whatever became of the job since.
func TestRepeatsAreNotJudgedAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body, other := application(t, code, fine(t)), application(t, code, with(fine(t), "email", "no address"))
	id := b.requireTaken(b.apply(body, me...))
	for n, change := range []func(){
		func() {},
		func() {
			b.job("acme", &model.Job{BoardCode: code, ID: "job-1",
				Questions: []model.Question{{ID: "resume", Format: model.File, Label: "Resume"},
					{ID: "why", Format: model.Text, Label: "Why", IsRequired: true}}})
		},
		func() { b.job("acme", &model.Job{BoardCode: code, ID: "job-1", Closed: true}) },
	} {
		change()
		require.Equal(t, id, b.requireTaken(b.apply(body, me...)), n)
		b.requireError(b.apply(other, me...), http.StatusUnprocessableEntity,
			"this Idempotency-Key was sent with another application before: take a new one for each", "null")
	}
	require.Equal(t, http.StatusBadRequest, b.apply(body, b.bearer(partner)...).Code,
		"a request without the key is judged")
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
	uploads, err := b.Runtime.Store().ListUploads(t.Context(), time.Now().Add(time.Hour), 0, 10)
	require.NoError(t, err)
	require.Empty(t, uploads)
}

// Of many requests with one key at once one is taken; the others are told to wait, or get its answer.
func TestOneKeyManyRequests(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body := application(t, code, fine(t))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			w := b.apply(body, me...)
			if w.Code == http.StatusConflict {
				require.Contains(t, w.Body.String(), "is being taken in")
				require.NotEmpty(t, w.Header().Get("Retry-After"))
				return
			}
			b.requireTaken(w)
		})
	}
	group.Wait()
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
}

// So it is where each request comes to another node, which knows nothing of the others.
func TestOneKeyManyNodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	headers := append(b.bearer(partner), "Idempotency-Key", "k-1")
	body := application(t, code, fine(t))
	ids := make([]string, 16)
	var group sync.WaitGroup
	for n := range ids {
		api := *b.API
		api.Guards = apply.NewGuards(b.Clock.Now)
		node := &fixture{Fixture: b.Fixture, API: apply.New(api), t: t}
		group.Go(func() { ids[n] = node.requireTaken(node.apply(body, headers...)) })
	}
	group.Wait()
	require.Len(t, slices.Compact(ids), 1)
	require.Len(t, b.applications("acme"), 1)
	require.Len(t, b.files(), 1)
}

// So it is where the tenant is relayed to a service since, or no more.
func TestRepeatsOutlastTheRelay(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	relayed := func(u *model.ApplyUpstream) {
		r.Reconfigure(func(c *config.Config) { c.Tenants["acme"].ApplyUpstream = u })
	}
	u := r.Fixture.Gateway.Config.Tenants["acme"].ApplyUpstream
	body := application(t, code, fine(t))
	send := func(key string) string {
		t.Helper()
		return r.requireTaken(r.apply(body, append(r.bearer(partner), "Idempotency-Key", key)...))
	}
	relayed(nil)
	before := send("k-1")
	relayed(u)
	require.Equal(t, before, send("k-1"))
	after := send("k-2")
	relayed(nil)
	require.Equal(t, after, send("k-2"))
	require.Len(t, r.submissions(t), 1)
}
