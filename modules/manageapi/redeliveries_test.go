package manageapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	redeliveries = "/v1/tenants/acme/redeliveries"
	lastHour     = `{"integration":"hris","since":"2026-11-20T11:30:00Z"`
)

// atNoon gives an export the n-th ID of noon: those of a process rise, whichever test they are of.
func atNoon(n int64) func(*model.Export) {
	return func(e *model.Export) { e.ID = model.FirstID(gatewaytest.Noon) + n }
}

// ranges is setup an hour later, with exports of noon: failed, delivered, and one that was addressed to crm alone.
func ranges(t *testing.T) *fixture {
	t.Helper()
	b := setup(t)
	b.Clock.Advance(time.Hour)
	b.delivery(b.export("acme", "u-failed", atNoon(0)), "hris", model.Failed, 500)
	b.delivery(b.export("acme", "u-delivered", atNoon(1)), "hris", model.Delivered, 200)
	e := b.export("acme", "u-missing", atNoon(2))
	b.Write(t, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, gatewaytest.Noon, "crm") })
	return b
}

type previewed struct {
	Count, ExpiredDocuments int64
	Oldest, Until           time.Time
	Rate                    int
	Samples                 []struct{ UUID, Outcome, Reason string }
}

type redelivered struct {
	ID, State, Reason, Mode               string
	Rate                                  int
	Total, Done, Failed, Waiting, Skipped int64
}

func TestRedeliveryPreview(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	preview := func(body string) previewed {
		return parsed[previewed](b, b.must(http.StatusOK, http.MethodPost, redeliveries, lastHour+body+`,"dryRun":true}`))
	}
	p := preview("")
	require.EqualValues(t, 1, p.Count)
	require.Equal(t, gatewaytest.Noon, p.Oldest)
	require.Equal(t, 8, p.Rate, "half of in_flight")
	require.Equal(t, "u-failed", p.Samples[0].UUID)
	require.Equal(t, "failed", p.Samples[0].Outcome)
	require.Contains(t, p.Samples[0].Reason, "answered 500")
	require.EqualValues(t, 3, preview(`,"mode":"all"`).Count)
	p = preview(`,"mode":"missing","rate":3`)
	require.EqualValues(t, 1, p.Count)
	require.Equal(t, "u-missing", p.Samples[0].UUID)
	require.Empty(t, p.Samples[0].Outcome)
	require.Equal(t, 3, p.Rate)
	for body, want := range map[string]int64{`,"status":"5xx","attempts":1`: 1, `,"status":"none"`: 0, `,"attempts":2`: 0,
		`,"waitingLonger":"50m"`: 1, `,"waitingLonger":"70m"`: 0} {
		require.Equal(t, want, preview(body).Count, body)
	}
	require.Equal(t, b.Clock.Now(), preview("").Until, "what comes later is not counted")
	b.must(http.StatusBadRequest, http.MethodPost, redeliveries, lastHour+`,"waitingLonger":"long"}`)
	p = preview(`,"until":"2026-11-20T11:45:00Z"`)
	require.Zero(t, p.Count)
	require.Empty(t, p.Samples)
	require.Zero(t, p.ExpiredDocuments)
	// Sent as it came, with addresses that ended at 14:30.
	b.Clock.Advance(2 * time.Hour)
	body := `{"integration":"crm","since":"2026-11-20T11:30:00Z","mode":"all","dryRun":true}`
	e := b.export("acme", "u-crm", atNoon(3))
	b.delivery(e, "crm", model.Delivered, 200)
	p = parsed[previewed](b, b.must(http.StatusOK, http.MethodPost, redeliveries, body))
	require.Positive(t, p.ExpiredDocuments)
	require.Equal(t, p.Count, p.ExpiredDocuments)
	require.Empty(t, get[listed](b, redeliveries).Items, "a preview is kept")
}

func TestRedeliveryIsBegunOnce(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	b.status("acme", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	send := func() (reply, redelivered) {
		a := b.must(http.StatusAccepted, http.MethodPost, redeliveries, lastHour+`}`, "Idempotency-Key", "once")
		return a, parsed[redelivered](b, a)
	}
	a, j := send()
	location := a.header.Get("Location")
	require.Equal(t, redeliveries+"/"+j.ID, location)
	require.Equal(t, redelivered{ID: j.ID, State: "running", Mode: "failed", Rate: 8, Total: 1}, j,
		"it waits for Temporal, which is away")
	a, again := send()
	require.Equal(t, j, again)
	require.Equal(t, location, a.header.Get("Location"))
	require.Equal(t, j, get[redelivered](b, location))
	require.Equal(t, []string{"acme/" + j.ID}, get[listed](b, "/v1/redeliveries").ids())

	act := func(status int, verb string) redelivered {
		return parsed[redelivered](b, b.must(status, http.MethodPost, location+verb, ""))
	}
	require.Equal(t, "paused", act(http.StatusOK, "/pause").State)
	require.Equal(t, "paused", act(http.StatusOK, "/pause").State, "once more is no fault")
	require.Equal(t, "running", act(http.StatusOK, "/resume").State)
	require.Equal(t, "cancelled", act(http.StatusOK, "/cancel").State)
	require.Contains(t, b.problem(http.MethodPost, location+"/resume", "", http.StatusConflict), "is cancelled")

	b.status("acme", "hris", store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410",
		UpdatedAt: gatewaytest.Noon})
	j = parsed[redelivered](b, b.must(http.StatusAccepted, http.MethodPost, redeliveries, lastHour+`}`))
	require.Equal(t, "it waits: integration hris is disabled: it answered 410", j.Reason)
	nothing := b.must(http.StatusAccepted, http.MethodPost, redeliveries, lastHour+`,"status":"418"}`)
	require.Equal(t, "finished", parsed[redelivered](b, nothing).State)
}

func TestRedeliveriesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	for body, want := range map[string]string{
		`{"since":"2026-11-20T12:00:00Z"}`:                                  "integration: tenant acme has none",
		`{"integration":"hris"}`:                                            "since is missing",
		`{"integration":"hris","since":"2026-11-20T14:00:00Z"}`:             "until is not after since",
		lastHour + `,"mode":"some"}`:                                        "use failed, missing or all",
		lastHour + `,"mode":"missing","class":"our_fault"}`:                 "leave these out",
		lastHour + `,"outcome":"retrying"}`:                                 "goes on by itself",
		lastHour + `,"outcome":"delivered"}`:                                "the mode all only",
		lastHour + `,"class":"mine"}`:                                       "use partner_fault",
		lastHour + `,"status":"42"}`:                                        "status must be an HTTP status",
		lastHour + `,"status":"4x"}`:                                        "status must be an HTTP status",
		lastHour + `,"attempts":-1}`:                                        "attempts: use 1 to",
		lastHour + `,"rate":1001}`:                                          "1 to 1000",
		`{"integration":"hris-2","since":"2026-11-20T12:00:00Z"}`:           `none of the name "hris-2"`,
		lastHour + `,"until":"2026-11-20T11:00:00Z","mode":"all","rate":1}`: "until is not after since",
	} {
		require.Contains(t, b.problem(http.MethodPost, redeliveries, body, http.StatusUnprocessableEntity), want, body)
	}
	require.Contains(t, b.problem(http.MethodGet, redeliveries+"/nothing", "", http.StatusNotFound), "no redelivery")
	j := parsed[redelivered](b, b.must(http.StatusAccepted, http.MethodPost, redeliveries, lastHour+`}`))
	b.problem(http.MethodGet, "/v1/tenants/globex/redeliveries/"+j.ID, "", http.StatusNotFound)
	b.problem(http.MethodPost, "/v1/tenants/globex/redeliveries/"+j.ID+"/cancel", "", http.StatusNotFound)
}

func TestRedeliveryCommands(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	choose := []string{"export", "redeliver", "--tenant", "acme", "--integration", "hris", "--since",
		"2026-11-20T11:30:00Z"}
	out, hints, err := b.cli(append(choose, "--dry-run", "--mode", "all")...)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^exports +3$`, out)
	require.Regexp(t, `(?m)^rate +8 a second`, out)
	require.Regexp(t, `(?m)^u-failed +2026-11-20T12:00:00Z \(\S+ ago\) +failed +answered 500`, out)
	require.Contains(t, hints, "Nothing was redelivered")

	out, _, err = b.cli(append(choose, "--detach")...)
	require.NoError(t, err)
	require.Regexp(t, `^redelivery acme/\S+ of 1 exports is running: 0 delivered, 0 failed, 0 on their way, 0 skipped\n$`,
		out)
	name := strings.Fields(out)[1]
	out, _, err = b.cli("redelivery", "list")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^`+name+` +hris +failed +2026-11-20T13:00:00Z \(\S+ ago\) +running +1 +0 +0 +0 +0$`, out)
	for _, verb := range []string{"pause", "resume", "cancel"} {
		out, _, err = b.cli("redelivery", verb, name)
		require.NoError(t, err)
		require.Contains(t, out, name)
	}
	out, _, err = b.cli("redelivery", "show", name)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^state +cancelled$`, out)

	for want, args := range map[string][]string{
		"name one export":       {"--tenant", "acme", "--since", "24h"},
		"takes one export":      {"acme/u-failed", "--since", "24h"},
		"--since: x is no time": {"--tenant", "acme", "--integration", "hris", "--since", "x"},
		"use failed, missing or": {"--tenant", "acme", "--integration", "hris", "--since", "2026-11-20T11:30:00Z",
			"--mode", "x"},
	} {
		_, _, err = b.cli(append([]string{"export", "redeliver"}, args...)...)
		require.ErrorContains(t, err, want)
	}
}

// Whoever redelivers knows before how many exports arrive twice, and what of a range is left out and why.
func TestRedeliverySaysWhatArrivesTwiceAndWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	for n, key := range []string{"u-r1", "u-r2"} {
		b.delivery(b.export("acme", key, atNoon(int64(10+n))), "hris", model.Retrying, 503)
	}
	type left struct {
		Received int64
		LeftOut  []model.LeftOut
	}
	p := parsed[left](b, b.must(http.StatusOK, http.MethodPost, redeliveries, lastHour+`,"mode":"all","dryRun":true}`))
	require.Equal(t, left{1, []model.LeftOut{{Why: model.LeftUnderWay, Count: 2}}}, p)

	choose := []string{"export", "redeliver", "--tenant", "acme", "--integration", "hris", "--since",
		"2026-11-20T11:30:00Z"}
	out, _, err := b.cli(append(choose, "--mode", "all", "--dry-run")...)
	require.NoError(t, err)
	require.Contains(t, out, "1 of these 3 exports were received already, and arrive once more.")
	_, hints, err := b.cli(append(choose, "--mode", "all", "--detach")...)
	require.NoError(t, err)
	require.Contains(t, hints, "1 of these 3 exports were received already, and arrive once more")

	const why = "2 still being delivered: each goes on by itself, and hiregate integration retry acme/hris has it tried now"
	nothing := append(choose, "--status", "418")
	begun := len(get[listed](b, redeliveries).Items)
	_, _, err = b.cli(nothing...)
	require.ErrorContains(t, err, "there is nothing to redeliver: "+why)
	require.ErrorContains(t, err, "; 1 failed or expired: the mode failed, without other filters, delivers them")
	require.Len(t, get[listed](b, redeliveries).Items, begun)
	out, _, err = b.cli(append(nothing, "--dry-run")...)
	require.NoError(t, err)
	require.Contains(t, out, "Left out of the range:\n  "+why)
	_, _, err = b.cli("export", "redeliver", "--tenant", "acme", "--integration", "hris", "--since",
		"2026-11-20T09:30:00Z", "--until", "2026-11-20T10:30:00Z")
	require.EqualError(t, err, "there is nothing to redeliver: no export was received in this time")
	j := parsed[redelivered](b, b.must(http.StatusAccepted, http.MethodPost, redeliveries, lastHour+`,"status":"418"}`))
	require.Contains(t, j.Reason, why)

	_, hints, err = b.cli("export", "redeliver", "acme/u-delivered", "--integration", "hris", "--wait", "0s")
	require.NoError(t, err)
	require.Contains(t, hints, "hris received this export at 2026-11-20T12:00:02Z: it arrives there once more")
}

// A redelivery says how fast it went, of the exports that it came to.
func TestRedeliveryHasItsRateSoFar(t *testing.T) {
	t.Parallel()
	b := ranges(t)
	j := &model.Redelivery{ID: "r-1", State: model.RedeliveryFinished, Rate: 8, Total: 20, Skipped: 20,
		CreatedAt: gatewaytest.Noon, UpdatedAt: gatewaytest.Noon, EndedAt: gatewaytest.Noon.Add(10 * time.Second),
		Selection: model.Selection{Tenant: "acme", Integration: "hris", Since: gatewaytest.Noon.Add(-time.Hour),
			Until: gatewaytest.Noon, Mode: model.RedeliverFailed}}
	b.Write(t, func(tx *store.Tx) error { return tx.InsertRedelivery(j) })
	require.InDelta(t, 2, get[api.Redelivery](b, redeliveries+"/r-1").ReachedRate, 0.001)
}
