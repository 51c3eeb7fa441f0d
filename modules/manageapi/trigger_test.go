package manageapi_test

import (
	"cmp"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

type exportedAnswer struct {
	UUID       string
	State      string
	Deliveries []struct {
		Integration, Outcome, Class, Reason, Answer string
		Attempts, Status                            int
	}
}

func (b *fixture) deliver(outcome model.Outcome, status int) { b.Answer(b.t, outcome, status) }

func TestAnExportAnswersWithItsFirstAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: b.Clock.Now()})
	b.deliver(model.Retrying, 503)
	a := b.must(http.StatusCreated, http.MethodPost, acme+"/candidates/c-1/exports", "")
	e := parsed[exportedAnswer](b, a)
	require.Equal(t, acme+"/exports/"+e.UUID, a.header.Get("Location"))
	require.Len(t, e.Deliveries, 3, "whatever state they are in")
	for n, name := range []string{"crm", "hris", "own"} {
		require.Equal(t, name, e.Deliveries[n].Integration)
		require.Equal(t, "retrying", e.Deliveries[n].Outcome)
		require.Equal(t, 503, e.Deliveries[n].Status)
		require.Equal(t, answered, e.Deliveries[n].Answer)
	}
	require.Equal(t, []string{e.UUID}, ids(b, acme+"/exports?candidate=c-1"))
}

func TestAnExportThatIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	const exports = acme + "/candidates/c-1/exports"
	b.initech()
	require.Contains(t, b.problem(http.MethodPost, "/v1/tenants/initech/candidates/c-1/exports", "", http.StatusConflict),
		"no integration")
	require.Contains(t, b.problem(http.MethodPost, exports, `{"integration":"nobody"}`, http.StatusUnprocessableEntity),
		`no integration "nobody"`)
	require.Contains(t, b.problem(http.MethodPost, acme+"/candidates/c-2/exports", "", http.StatusNotFound),
		"the tenant has no candidate of that id")
	require.Contains(t, b.problem(http.MethodPost, exports, `{"jobApplication":"a-2"}`, http.StatusNotFound),
		"no job application of that id")
	b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/a-2", `{"candidate":"c-1"}`)
	require.Contains(t, b.problem(http.MethodPost, exports, "", http.StatusUnprocessableEntity),
		"several job applications")
	require.Empty(t, b.Exports(t))
}

// An integration that takes no exports now may do so again before the document URLs end: what is exported to it is held.
func TestAnExportToWhatTakesNoneNow(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]store.IntegrationStatus{
		"410":      {State: model.Disabled, Reason: "it answered 410"},
		"verified": {State: model.NotConfigured, Reason: "VERIFY was not sent yet"},
		"operator": {State: model.Disabled, Reason: "an operator disabled it", ByOperator: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.people()
			status.UpdatedAt = b.Clock.Now()
			b.status("acme", "hris", status)
			b.deliver(model.Held, 410)
			e := parsed[exportedAnswer](b, b.must(http.StatusCreated, http.MethodPost, acme+"/candidates/c-1/exports", `{"integration":"hris"}`))
			require.Len(t, e.Deliveries, 1)
			require.Equal(t, "hris", e.Deliveries[0].Integration)

			b.Clock.Advance(time.Minute)
			b.must(http.StatusCreated, http.MethodPut, acme+"/steps/hired/helper", `{}`)
			b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"hired"}`)
			all := b.Exports(t)
			require.Len(t, all, 2)
			require.Equal(t, []string{"crm", "hris", "own"}, all[0].Integrations)
			require.Empty(t, all[0].Fault)
			require.Len(t, ids(b, acme+"/exports?undelivered=true&integration=hris"), 2)
		})
	}
}

// Where the tenant has no integration at all, the export has nobody to go to: it is listed, and status counts it, until
// somebody erases it.
func TestAnExportOfAHelperToNobody(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.people()
		b.must(http.StatusCreated, http.MethodPut, acme+"/steps/hired/helper", `{}`)
		b.Reconfigure(func(c *config.Config) { c.Tenants["acme"].Integrations = nil })
		b.must(http.StatusCreated, http.MethodPost, application+"/transitions", `{"step":"hired"}`)
		all := b.Exports(t)
		require.Len(t, all, 1)
		require.Contains(t, all[0].Fault, "the tenant had no integration")
		require.Equal(t, []string{all[0].Key}, ids(b, acme+"/exports?undelivered=true"))
		require.Equal(t, []string{"acme: exports that go nowhere, each for the reason that its page says: 1"},
			get[statusAnswer](b, "/v1/status").needs(model.NeedFaulty))
		unsettled, err := b.Runtime.Store().LookUnsettled(t.Context(), 0)
		require.NoError(t, err)
		require.Empty(t, unsettled.Settled, "it would be in no list")
		b.must(http.StatusOK, http.MethodPost, acme+"/exports/"+all[0].Key+"/erase", "")
		require.Empty(t, ids(b, acme+"/exports?undelivered=true"))
		require.Empty(t, get[statusAnswer](b, "/v1/status").needs(model.NeedFaulty))
	})
}

// An export of a tenant that had no integration was delivered to nobody, alone or in a group: status says so, and why,
// until it is redelivered or erased.
func TestExportsOfATenantWithoutIntegration(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		alone := inbox.NewExport("idle", "u-1", []byte(`{"candidate":{}}`), gatewaytest.Noon)
		grouped := inbox.NewExport("idle", "u-2", []byte(`{"candidate":{"a":1}}`), gatewaytest.Noon)
		b.Write(t, func(tx *store.Tx) error {
			for _, e := range []*model.Export{alone, grouped} {
				e.ForNobody = true
				if _, err := inbox.Insert(tx, e); err != nil {
					return err
				}
			}
			if err := tx.MarkDispatched(alone.ID, 0, b.Clock.Now()); err != nil {
				return err
			}
			_, err := tx.Group([]*model.Export{grouped}, b.Clock.Now())
			return cmp.Or(err, tx.MarkGroupDispatched(grouped.ID, b.Clock.Now()))
		})
		const idle = "/v1/tenants/idle"
		require.ElementsMatch(t, []string{"u-1", "u-2"}, ids(b, idle+"/exports?outcome=failed"))
		needs := func() []string { return get[statusAnswer](b, "/v1/status").needs(model.NeedUnaddressed) }
		require.Equal(t, []string{"idle: exports were not delivered, because it had no integration when they came: 2; add one, then " +
			"redeliver them"}, needs())
		require.Empty(t, get[statusAnswer](b, "/v1/status").needs(model.NeedFaulty))
		require.Contains(t, b.must(http.StatusOK, http.MethodGet, idle+"/exports/u-1", "").body,
			`"reason":"it was not delivered, because its tenant had no integration`)
		b.Reconfigure(func(c *config.Config) {
			c.Tenants["idle"].Integrations = []model.Integration{{Tenant: "idle", Name: "hris", URL: "https://hr.idle.example/" + urlPath,
				Secret: secretKey, Options: model.Options{Documents: model.Rehost}}}
		})
		require.Equal(t, []string{"idle: exports were not delivered, because it had no integration when they came: 2; redeliver them to " +
			"the one that it has now"}, needs())
		b.must(http.StatusOK, http.MethodPost, idle+"/exports/u-1/erase", "")
		require.Len(t, needs(), 1)
		b.must(http.StatusAccepted, http.MethodPost, idle+"/exports/u-2/redeliver", `{"integrations":["hris"]}`)
		require.Empty(t, needs())
		require.Equal(t, []string{"u-2"}, ids(b, idle+"/exports?undelivered=true"))
	})
}

func TestARepeatedExportIsOneExport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.deliver(model.Delivered, 200)
	post := func() reply {
		return b.must(http.StatusCreated, http.MethodPost, acme+"/candidates/c-1/exports", "", "Idempotency-Key", "k")
	}
	first := post()
	require.Equal(t, first.body, post().body)
	require.Equal(t, parsed[exportedAnswer](b, first), parsed[exportedAnswer](b, post()), "after a crash")
	require.Len(t, b.Exports(t), 1)
}

// The first attempt may not come while Temporal is away: the export is there anyway, and the answer says so.
func TestAnExportWithoutTemporal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	began := time.Now()
	e := parsed[exportedAnswer](b, b.must(http.StatusCreated, http.MethodPost, acme+"/candidates/c-1/exports",
		`{"integration":"own","jobApplication":"a-1"}`))
	require.WithinRange(t, time.Now(), began.Add(20*time.Second), began.Add(40*time.Second))
	require.Equal(t, "waiting", e.State)
	require.Len(t, e.Deliveries, 1)
	require.Equal(t, "pending", e.Deliveries[0].Outcome)
	require.Contains(t, e.Deliveries[0].Reason, "waits for Temporal")
}

// Its workflow may be there, and wait at a gate of the integration.
func TestAnExportThatWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	answer := make(chan reply, 1)
	go func() {
		answer <- b.send(http.MethodPost, acme+"/candidates/c-1/exports", `{"integration":"own","jobApplication":"a-1"}`)
	}()
	var page []*model.Export
	require.Eventually(t, func() bool { page = b.Exports(t); return len(page) == 1 }, 20*time.Second, 5*time.Millisecond)
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(page[0].ID, 0, b.Clock.Now(), "own") })
	a := <-answer
	require.Equal(t, http.StatusCreated, a.status, a.body)
	e := parsed[exportedAnswer](b, a)
	require.Len(t, e.Deliveries, 1)
	require.Equal(t, "pending", e.Deliveries[0].Outcome)
	require.Contains(t, e.Deliveries[0].Reason, "waits for its turn")
}

func TestEnteringAStepExports(t *testing.T) {
	t.Parallel()
	onEach(t, testEnteringAStepExports)
}

func testEnteringAStepExports(t *testing.T, b *fixture) {
	b.people()
	b.must(http.StatusCreated, http.MethodPut, acme+"/steps/hired/helper", `{}`)
	enter := func(status int, step string) reply {
		return b.must(status, http.MethodPost, application+"/transitions", `{"step":"`+step+`"}`)
	}
	require.NotContains(t, enter(http.StatusCreated, "applied").body, `"export"`)
	b.Clock.Advance(time.Minute)
	a := enter(http.StatusCreated, "hired")
	uuid := parsed[struct{ Export string }](b, a).Export
	require.Equal(t, []string{uuid}, ids(b, acme+"/exports"))
	require.Contains(t, b.refused(http.StatusConflict, http.MethodPost, application+"/transitions", `{"step":"hired"}`),
		"in that step already")
	require.Contains(t, b.refused(http.StatusNotFound, http.MethodPost, application+"/transitions", `{"step":"fired"}`),
		"the tenant has no step of that id")
	require.Contains(t, b.refused(http.StatusUnprocessableEntity, http.MethodPost, application+"/transitions", `{}`),
		"step is missing")
	b.Clock.Advance(time.Minute)
	enter(http.StatusCreated, "applied")
	b.Clock.Advance(time.Minute)
	enter(http.StatusCreated, "hired")
	require.Len(t, b.Exports(t), 2, "once for each entering")
	history := items(b, application+"/transitions")
	require.Len(t, history, 4)
	require.Equal(t, "hired", history[0]["step"], "the last one comes first")
	require.Len(t, pagedIDs(b, application+"/transitions"), 4)
}

func TestExportsOfATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1")
	b.export("acme", "u-2", func(e *model.Export) {
		later := e.ReceivedAt.Add(time.Hour)
		e.ID, e.ReceivedAt = model.FirstID(later)+1, later
	})
	for query, want := range map[string][]string{
		"?since=2026-11-20T12:30:00Z": {"u-2"}, "?until=2026-11-20T13:30:00%2B01:00": {"u-1"},
		"?since=2026-11-20T12:00:00Z&until=2026-11-20T13:00:01Z": {"u-2", "u-1"},
	} {
		require.Equal(t, want, ids(b, acme+"/exports"+query), query)
	}
}

func TestAnExportIsInTheTraceOfItsRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.deliver(model.Delivered, 200)
	const came = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	b.must(http.StatusCreated, http.MethodPost, acme+"/candidates/c-1/exports", "", "traceparent", came)
	require.Equal(t, came, b.Exports(t)[0].Traceparent)
}
