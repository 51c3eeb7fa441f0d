package apply_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/apply/form"
)

// relaying is a gateway whose tenant acme is relayed to the Apply API of another one, and what stands between them.
type relaying struct {
	*fixture
	service *fixture
	// instead answers in the place of the service; nil: the service does.
	instead atomic.Pointer[http.HandlerFunc]
	bodies  chan []byte // of the applications that the service was sent
	keys    chan string
}

func setupRelaying(t *testing.T) *relaying {
	t.Helper()
	r := &relaying{service: setup(t), bodies: make(chan []byte, 1000), keys: make(chan string, 1000)}
	api := http.StripPrefix("/apply", r.service.API)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/apply/v2/application" {
			raw, err := io.ReadAll(q.Body)
			if err != nil {
				return
			}
			r.bodies <- raw
			r.keys <- q.Header.Get("Idempotency-Key")
			q.Body = io.NopCloser(bytes.NewReader(raw))
		}
		if instead := r.instead.Load(); instead != nil {
			(*instead)(w, q)
			return
		}
		api.ServeHTTP(w, q)
	}))
	t.Cleanup(between.Close)
	acme := gatewaytest.Tenant("acme")
	acme.ApplyUpstream = &model.ApplyUpstream{URL: between.URL + "/apply", User: partner, Password: right,
		Source: "Acme careers", Wait: time.Minute, TryFor: model.DefaultTryFor, Keep: model.DefaultKeep,
		Rate: model.DefaultUpstreamRate}
	g := gatewaytest.New(t, acme, gatewaytest.Tenant("globex"))
	g.AllowLoopback(t)
	g.Runtime.Relay.Now = g.Clock.Now
	r.fixture = setupOn(t, g)
	return r
}

func (r *relaying) answer(serve http.HandlerFunc) {
	if serve == nil {
		r.instead.Store(nil)
		return
	}
	r.instead.Store(&serve)
}

// upstream changes how acme is relayed.
func (r *relaying) upstream(t *testing.T, change func(*model.ApplyUpstream)) {
	t.Helper()
	r.Reconfigure(func(c *config.Config) {
		u := *c.Tenants["acme"].ApplyUpstream
		change(&u)
		c.Tenants["acme"].ApplyUpstream = &u
	})
}

func (r *relaying) submissions(t *testing.T) []*model.Submission {
	t.Helper()
	all, err := r.Runtime.Store().ListSubmissions(t.Context(), "acme", store.SubmissionFilter{})
	require.NoError(t, err)
	return all
}

// attempt makes the next attempt of a submission.
func (r *relaying) attempt(t *testing.T, id string) *model.Submission {
	t.Helper()
	db, relay := r.Runtime.Store(), r.Runtime.Relay
	s, err := db.Submission(t.Context(), "acme", id)
	require.NoError(t, err)
	lease := relay.NewLease()
	r.Write(t, func(tx *store.Tx) error {
		leased, err := tx.LeaseSubmission(s, lease, r.Clock.Now())
		require.True(t, leased, "another attempt is under way, or it has ended")
		return err
	})
	_, err = relay.Run(t.Context(), s, lease)
	require.NoError(t, err)
	s, err = db.Submission(t.Context(), "acme", id)
	require.NoError(t, err)
	return s
}

func (r *relaying) requireQuestions(t *testing.T, me []string) {
	t.Helper()
	w := r.ask(http.MethodGet, "/v2/job/"+code+"/question", "", me...)
	require.Equal(t, http.StatusOK, w.Code, "%s", w.Body)
}

// forms are acme's forms.
func (r *relaying) forms() *formFixture {
	return &formFixture{fixture: r.fixture, form: form.New(form.Form{Applications: r.API, Gateway: r.Fixture.Gateway, Tenant: "acme",
		Look: form.Look{Name: "Acme Hospitals"}, Guards: form.NewGuards(), Log: r.Fixture.Log,
		Address: func(q *http.Request) string { return q.RemoteAddr }})}
}
