package manageapi_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// TestPreconditions walks everything that has a version through RFC 9110 section 13.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	onEach(t, testPreconditions)
}

func testPreconditions(t *testing.T, b *fixture) {
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
		require.Contains(t, b.refused(http.StatusPreconditionFailed, http.MethodPut, path, body, "If-None-Match", "*"),
			"it is there already")
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
		require.Contains(t, b.refused(http.StatusPreconditionFailed, http.MethodPut, path, body, "If-Match", made),
			"changed since you read it")
		put(http.StatusPreconditionFailed, "If-Match", "W/"+changed) // a weak tag says no more than that it is much the same
		put(http.StatusOK, "If-Match", `"x", `+changed)
		put(http.StatusOK, "If-Match", "*")
		put(http.StatusOK)
		if path == "/v1/tenants/globex/steps" {
			b.must(http.StatusOK, http.MethodPut, path, `{"items":[]}`)
		} else {
			b.must(http.StatusPreconditionFailed, http.MethodDelete, path, "", "If-Match", changed)
			deleted := http.StatusNoContent
			if path == "/v1/tenants/hooli" {
				deleted = http.StatusOK // and says what stays
			}
			b.must(deleted, http.MethodDelete, path, "", "If-Match", "*")
			b.must(http.StatusNotFound, http.MethodDelete, path, "")
			b.must(http.StatusPreconditionFailed, http.MethodDelete, path, "", "If-Match", "*")
		}

		b.Clock.Advance(time.Second)
		require.NotEqual(t, made, put(status).header.Get("ETag"), "%s: what was made anew is taken for what was deleted",
			path)
		b.must(http.StatusOK, http.MethodGet, path, "", "If-None-Match", made)
		put(http.StatusPreconditionFailed, "If-Match", made)
	}
}

// Entering a step changes the job application, and so what is expected of it counts there.
func TestAStepIsEnteredInTheVersionThatWasRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
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

// Where an integration stands, and which integrations a tenant has, is shown and changes by itself.
func TestWhatIsShownBesideAVersionCounts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.initech()
		address := b.partner(func(http.ResponseWriter, *http.Request) {})
		const tenant, hris = "/v1/tenants/initech", integrations + "/hris"
		etag := func(path string) string {
			return b.must(http.StatusOK, http.MethodGet, path, "").header.Get("ETag")
		}
		alone := etag(tenant)
		made := b.must(http.StatusCreated, http.MethodPut, hris, `{"url":"`+address+`/x","secret":"s-and-sixteen-bytes"}`).header.Get("ETag")
		require.Equal(t, made, etag(hris))
		b.must(http.StatusOK, http.MethodGet, tenant, "", "If-None-Match", alone)
		b.must(http.StatusPreconditionFailed, http.MethodPut, tenant, `{}`, "If-Match", alone)
		b.must(http.StatusNotModified, http.MethodGet, tenant, "", "If-None-Match", etag(tenant))

		b.status("initech", "hris", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", Attempts: 1,
			UpdatedAt: b.Clock.Now()})
		b.must(http.StatusOK, http.MethodGet, hris, "", "If-None-Match", made)
		b.must(http.StatusPreconditionFailed, http.MethodPut, hris, `{"inFlight":3}`, "If-Match", made)
		b.must(http.StatusPreconditionFailed, http.MethodDelete, hris, "", "If-Match", made)
		disabled := etag(hris)
		b.must(http.StatusNotModified, http.MethodGet, hris, "", "If-None-Match", disabled)
		changed := b.must(http.StatusOK, http.MethodPut, hris, `{"inFlight":3}`, "If-Match", disabled).header.Get("ETag")

		with := etag(tenant)
		b.must(http.StatusNoContent, http.MethodDelete, hris, "", "If-Match", changed)
		b.must(http.StatusOK, http.MethodGet, tenant, "", "If-None-Match", with)
	})
}

// An integration that is disabled while VERIFY is under way is another than the one that was to be changed.
func TestAnIntegrationThatChangesDuringVerifyIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	var disable atomic.Bool
	address := b.partner(func(http.ResponseWriter, *http.Request) {
		if disable.Load() {
			b.status("initech", "hris", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410",
				UpdatedAt: b.Clock.Now()})
		}
	})
	made := b.must(http.StatusCreated, http.MethodPut, integrations+"/hris",
		`{"url":"`+address+`/x","secret":"s-and-sixteen-bytes"}`).header.Get("ETag")
	disable.Store(true)
	b.must(http.StatusPreconditionFailed, http.MethodPut, integrations+"/hris", `{"url":"`+address+`/y"}`, "If-Match",
		made)
	i, _ := b.Config.Integration("initech", "hris")
	require.Equal(t, address+"/x", i.URL)
}

// Of two that read the same version, one wins.
func TestTheSecondOfTwoIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, testTheSecondOfTwoIsRefused)
}

func testTheSecondOfTwoIsRefused(t *testing.T, b *fixture) {
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
	onEach(t, func(t *testing.T, b *fixture) {
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

// An OAuth client, which has no version, is changed and disabled as it was read anyway.
func TestAnOAuthClientIsChangedAsItWasRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		const path, settings = "/v1/oauth-clients/payroll", `"redirectUris":["https://app.example.com/cb"]}`
		etag := func() string { return b.must(http.StatusOK, http.MethodGet, path, "").header.Get("ETag") }
		b.must(http.StatusPreconditionFailed, http.MethodPut, path, `{"name":"A",`+settings, "If-Match", "*")
		made := b.must(http.StatusCreated, http.MethodPost, "/v1/oauth-clients",
			`{"id":"payroll","name":"A",`+settings).header.Get("ETag")
		require.NotEmpty(t, made)
		require.Equal(t, made, etag())
		b.must(http.StatusNotModified, http.MethodGet, path, "", "If-None-Match", made)

		changed := b.must(http.StatusOK, http.MethodPut, path, `{"name":"B",`+settings, "If-Match", made).header.Get("ETag")
		require.NotEqual(t, made, changed)
		require.Equal(t, changed, etag())
		require.Contains(t, b.refused(http.StatusPreconditionFailed, http.MethodPut, path, `{"name":"C",`+settings,
			"If-Match", made), "changed since you read it")
		require.Contains(t, b.refused(http.StatusPreconditionFailed, http.MethodPut, path, `{"name":"C",`+settings,
			"If-None-Match", "*"), "it is there already")
		require.Equal(t, changed, etag())

		b.Clock.Advance(time.Second)
		secret := b.must(http.StatusOK, http.MethodPost, path+"/reset", "").header.Get("ETag")
		require.NotEqual(t, changed, secret, "how many secrets there are is shown")
		b.must(http.StatusPreconditionFailed, http.MethodDelete, path, "", "If-Match", changed)
		require.Equal(t, secret, etag())

		done := make(chan int)
		for n := range 8 {
			go func() {
				done <- b.send(http.MethodPut, path, fmt.Sprintf(`{"name":"%d",`, n)+settings, "If-Match", secret).status
			}()
		}
		count := map[int]int{}
		for range 8 {
			count[<-done]++
		}
		require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: 7}, count)
		b.must(http.StatusNoContent, http.MethodDelete, path, "", "If-Match", etag())
	})
}
