package manageapi_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const newKey = `{"label":"x","role":"viewer"}`

func TestARepeatGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	onEach(t, testARepeatGetsTheSameAnswer)
}

func testARepeatGetsTheSameAnswer(t *testing.T, b *fixture) {
	b = b.keyed()
	k := b.as(b.key("root", "", model.Admin))
	post := func(b *fixture, name, key string) reply {
		return b.send(http.MethodPost, "/v1/tenants/acme/api-users", `{"userName":"`+name+`","password":"correct horse"}`,
			"Idempotency-Key", key)
	}
	first := post(k, "p@example.com", "once")
	require.Equal(t, http.StatusCreated, first.status)
	require.Empty(t, first.header.Get("Idempotency-Replayed"))
	b.Clock.Advance(23 * time.Hour)
	again := post(k, "p@example.com", "once")
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, first.status, again.status)
	require.Equal(t, first.body, again.body)
	for _, name := range []string{"Location", "Content-Type"} {
		require.Equal(t, first.header.Get(name), again.header.Get(name))
	}
	require.Len(t, ids(k, "/v1/tenants/acme/api-users"), 1)

	require.Equal(t, http.StatusUnprocessableEntity, post(k, "q@example.com", "once").status)
	require.Equal(t, http.StatusConflict, post(k, "p@example.com", "other").status, "the name is taken")
	require.Equal(t, http.StatusConflict, post(b.as(b.key("root2", "", model.Admin)), "p@example.com", "once").status,
		"another's key")
	b.Clock.Advance(time.Hour)
	require.Equal(t, http.StatusConflict, post(k, "p@example.com", "once").status, "it is kept for longer than a day")
}

// The database has neither the secret that a request made nor its Idempotency-Key.
func TestNoSecretIsKeptForRepeats(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := parsed[struct{ Key, ID string }](b, b.must(http.StatusCreated, http.MethodPost, "/v1/api-keys", newKey,
		"Idempotency-Key", "my-own-key-1"))
	var kept []byte
	for _, name := range []string{"hiregate.db", "hiregate.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(b.Folder, name))
		require.NoError(t, err)
		kept = append(kept, raw...)
	}
	require.Contains(t, string(kept), made.ID)
	require.NotContains(t, string(kept), made.Key)
	require.NotContains(t, string(kept), "my-own-key-1")
}

// Whoever has a copy of the database can't try guesses at a secret against what is kept of the request that it came in.
func TestKeptFingerprintsCanNotBeGuessed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, key := range []string{"my-own-key-1", "my-own-key-2"} {
		b.must(http.StatusCreated, http.MethodPost, "/v1/api-keys", newKey, "Idempotency-Key", key)
	}
	require.Equal(t, 2, b.Fingerprints(t), "they are made of the body alone")
}

// What was refused made nothing: its repeat is tried again, under the same key.
func TestARepeatOfWhatFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	post := func(path string) reply { return b.send(http.MethodPost, path, "", "Idempotency-Key", "k") }
	release := "/v1/tenants/acme/exports/u-1/release"
	require.Equal(t, http.StatusNotFound, post(release).status)
	b.export("acme", "u-1", quarantined)
	released := post(release)
	require.Equal(t, http.StatusAccepted, released.status, released.body)
	again := post(release)
	require.JSONEq(t, released.body, again.body)
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Equal(t, http.StatusConflict, b.send(http.MethodPost, release, "").status, "it is not in quarantine any more")

	enable := "/v1/tenants/acme/integrations/hris/enable"
	require.Equal(t, http.StatusServiceUnavailable, post(enable).status, "Temporal is away")
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: b.Clock.Now()})
	require.Equal(t, http.StatusAccepted, post(enable).status)
}

func TestARequestThatIsBeingAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	partner := b.partner(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
	})
	b.initech()
	body := `{"name":"hris","url":"` + partner + `/x","secret":"s-and-sixteen-bytes"}`
	post := func() reply {
		return b.send(http.MethodPost, "/v1/tenants/initech/integrations", body, "Idempotency-Key", "k")
	}
	done := make(chan reply)
	go func() { done <- post() }()
	<-entered
	busy := post()
	require.Equal(t, http.StatusConflict, busy.status)
	require.Equal(t, "1", busy.header.Get("Retry-After"))
	close(leave)
	first := <-done
	require.Equal(t, http.StatusCreated, first.status, first.body)
	require.Equal(t, first.body, post().body)
}

func TestIdempotencyKeysAreVisibleASCII(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, keys := range [][]string{{""}, {"a b"}, {"é"}, {strings.Repeat("x", 256)}, {"a", "b"}} {
		var headers []string
		for _, key := range keys {
			headers = append(headers, "Idempotency-Key", key)
		}
		require.Contains(t, b.refused(http.StatusBadRequest, http.MethodPost, "/v1/api-keys", newKey, headers...),
			"1 to 255 visible ASCII")
	}
	b.must(http.StatusCreated, http.MethodPost, "/v1/api-keys", newKey, "Idempotency-Key", strings.Repeat("~", 255))
}

// Of requests with the same key that come at the same moment, one is done.
func TestOnceAmongMany(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.people()
		done := make(chan reply)
		for range 8 {
			go func() {
				done <- b.send(http.MethodPost, application+"/transitions", `{"step":"hired"}`, "Idempotency-Key", "k")
			}()
		}
		made := ""
		for range 8 {
			a := <-done
			if a.status == http.StatusConflict {
				require.Contains(t, a.body, "is being answered")
				continue
			}
			require.Equal(t, http.StatusCreated, a.status, a.body)
			if made == "" {
				made = a.body
			}
			require.Equal(t, made, a.body)
		}
		require.NotEmpty(t, made)
		require.Len(t, items(b, application+"/transitions"), 1)
	})
}
