package manage_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPreconditions walks everything that has a version through RFC 9110 section 13.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	onEach(t, testPreconditions)
}

func testPreconditions(t *testing.T, b *bench) {
	b.people()
	b.initech()
	for path, body := range map[string]string{
		acme + "/candidates/c-9":       `{}`,
		acme + "/jobs/j-9":             `{"id":"j-9"}`,
		acme + "/job-applications/a-9": `{"candidate":"c-1"}`,
		acme + "/steps/applied/helper": `{}`,
		"/v1/tenants/globex/steps":     `{"items":[{"id":"one","name":"One"}]}`,
		"/v1/tenants/hooli":            `{"name":"Hooli"}`,
	} {
		put := func(status int, headers ...string) reply {
			return b.must(status, http.MethodPut, path, body, headers...)
		}
		put(http.StatusPreconditionFailed, "If-Match", `"1"`)
		put(http.StatusPreconditionFailed, "If-Match", `*`)
		status := http.StatusCreated
		if path == "/v1/tenants/globex/steps" {
			status = http.StatusOK // the list itself is always there
		}
		made := put(status, "If-None-Match", "*").header.Get("ETag")
		require.NotEmpty(t, made)
		require.Contains(t, b.refused(http.StatusPreconditionFailed, http.MethodPut, path, body, "If-None-Match", "*"), "it is there already")
		shown := b.must(http.StatusOK, http.MethodGet, path, "")
		require.Equal(t, made, shown.header.Get("ETag"))
		for _, known := range []string{made, "*", `"x", W/` + made} {
			same := b.must(http.StatusNotModified, http.MethodGet, path, "", "If-None-Match", known)
			require.Empty(t, same.body)
			require.Equal(t, made, same.header.Get("ETag"))
		}
		b.must(http.StatusOK, http.MethodGet, path, "", "If-None-Match", `"x"`)

		changed := put(http.StatusOK, "If-Match", made).header.Get("ETag")
		require.NotEqual(t, made, changed)
		require.Contains(t, b.refused(http.StatusPreconditionFailed, http.MethodPut, path, body, "If-Match", made), "changed since you read it")
		put(http.StatusOK, "If-Match", `"x", `+changed)
		put(http.StatusOK, "If-Match", "*")
		put(http.StatusOK)
		if path == "/v1/tenants/globex/steps" {
			b.must(http.StatusOK, http.MethodPut, path, `{"items":[]}`)
		} else {
			b.must(http.StatusPreconditionFailed, http.MethodDelete, path, "", "If-Match", changed)
			b.must(http.StatusNoContent, http.MethodDelete, path, "", "If-Match", "*")
			b.must(http.StatusNotFound, http.MethodDelete, path, "")
			b.must(http.StatusPreconditionFailed, http.MethodDelete, path, "", "If-Match", "*")
		}

		b.Clock.Advance(time.Second)
		require.NotEqual(t, made, put(status).header.Get("ETag"), "%s: what was made anew is taken for what was deleted", path)
		b.must(http.StatusOK, http.MethodGet, path, "", "If-None-Match", made)
		put(http.StatusPreconditionFailed, "If-Match", made)
	}
}

// Entering a step changes the job application, and so what is expected of it counts there.
func TestAStepIsEnteredInTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *bench) {
		b.people()
		read := b.must(http.StatusOK, http.MethodGet, application, "").header.Get("ETag")
		enter := func(status int, step string) {
			b.must(status, http.MethodPost, application+"/transitions", `{"step":"`+step+`"}`, "If-Match", read)
		}
		enter(http.StatusCreated, "applied")
		enter(http.StatusPreconditionFailed, "hired")
		require.Len(t, items(b, application+"/transitions"), 1)
		read = b.must(http.StatusOK, http.MethodGet, application, "").header.Get("ETag")
		enter(http.StatusCreated, "hired")
	})
}

// Of two that read the same version, one wins.
func TestTheSecondOfTwoIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, testTheSecondOfTwoIsRefused)
}

func testTheSecondOfTwoIsRefused(t *testing.T, b *bench) {
	const path = "/v1/tenants/acme/candidates/c-1"
	made := b.must(http.StatusCreated, http.MethodPut, path, `{}`).header.Get("ETag")
	done := make(chan int)
	for range 8 {
		go func() {
			done <- b.send(http.MethodPut, path, `{"gender":"x"}`, "If-Match", made).status
		}()
	}
	count := map[int]int{}
	for range 8 {
		count[<-done]++
	}
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: 7}, count)
}

// Of those that make the same tenant at the same moment, one does.
func TestATenantIsMadeOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *bench) {
		done := make(chan int)
		for range 8 {
			go func() {
				done <- b.send(http.MethodPut, "/v1/tenants/initech", `{}`, "If-None-Match", "*").status
			}()
		}
		count := map[int]int{}
		for range 8 {
			count[<-done]++
		}
		require.Equal(t, map[int]int{http.StatusCreated: 1, http.StatusPreconditionFailed: 7}, count)
	})
}
