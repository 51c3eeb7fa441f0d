package verification_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/verification"
)

// verifier is the verify activity over a real store, for an integration at a partner.
type verifier struct {
	*verification.Activities
	t *testing.T
}

func newVerifier(t *testing.T, i model.Integration) *verifier {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	force := new(config.InForce)
	force.Push(&config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}),
		Tenants: map[string]*model.Tenant{"acme": {Name: "acme", Integrations: []model.Integration{i}}}})
	return &verifier{t: t, Activities: &verification.Activities{Store: db, InForce: force, Places: fairpool.NewPool(verification.AtOnce), Now: time.Now, Log: zap.NewNop(), Release: func(context.Context, *model.Integration) error {
		t.Error("it released what is held")
		return nil
	}}}
}

// verify runs the activity once.
func (v *verifier) verify(i model.Integration) (res verification.Result, err error) {
	v.t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(v.Verify, activity.RegisterOptions{Name: verification.VerifyName})
	value, err := env.ExecuteActivity(verification.VerifyName, verification.Input{Tenant: i.Tenant, Integration: i.Name, Setting: hex.EncodeToString(i.Setting())})
	if err == nil {
		require.NoError(v.t, value.Get(&res))
	}
	return res, err
}

// A tenant that has its share of the events under way is not asked for more of them, and that is no attempt.
func TestVerifyWaitsForAPlace(t *testing.T) {
	t.Parallel()
	asked := 0
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(partner.Close)
	i := model.Integration{Row: model.Row{Version: 1}, Tenant: "acme", Name: "hris", URL: partner.URL + "/inbound", Secret: "s", Verify: true}
	v := newVerifier(t, i)
	for v.Places.TryAcquire("acme", 1) {
	}
	var again *temporal.ApplicationError
	_, err := v.verify(i)
	require.ErrorAs(t, err, &again)
	require.Equal(t, []any{"no_place", 0}, []any{again.Type(), asked})
	v.Places.Release("acme", 1)
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for n := range 2 {
		v.Now = func() time.Time { return began.Add(time.Duration(n) * time.Hour) }
		_, err = v.verify(i)
		require.ErrorAs(t, err, &again)
		require.Equal(t, "not_configured", again.Type())
	}
	status, err := v.Store.IntegrationStatus(t.Context(), &i)
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{status.Attempts, asked})
	require.Equal(t, began, status.UpdatedAt, "it is not verified since the first failure")
}

// A slow answer to VERIFY says nothing of the setting that came meanwhile, and does not bring back what was removed.
func TestLateAnswerToVerify(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []model.IntegrationState{model.Configured, model.Removed} {
		var v *verifier
		var next model.Integration
		partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			err := v.Store.Write(context.Background(), func(tx *store.Tx) error {
				return tx.UpsertIntegrationStatus(&next, store.IntegrationStatus{State: meanwhile, UpdatedAt: time.Now()})
			})
			if err != nil {
				t.Errorf("changing an integration: %v", err)
			}
		}))
		t.Cleanup(partner.Close)
		former := model.Integration{Row: model.Row{Version: 1}, Tenant: "acme", Name: "hris", URL: partner.URL + "/former", Secret: "s", Verify: true}
		next = former
		if meanwhile != model.Removed {
			next.URL = partner.URL + "/next"
		}
		v = newVerifier(t, former)
		_, err := v.verify(former)
		var again *temporal.ApplicationError
		require.True(t, errors.As(err, &again), "%v", err)
		require.Equal(t, "changed", again.Type())
		status, err := v.Store.IntegrationStatus(t.Context(), &next)
		require.NoError(t, err)
		require.Equal(t, meanwhile, status.State)
	}
}

// An integration that is trusted without being asked, since a reload, is not asked any more.
func TestVerificationEndsWhereItIsSwitchedOff(t *testing.T) {
	t.Parallel()
	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(partner.Close)
	trusted := model.Integration{Tenant: "acme", Name: "hris", URL: partner.URL + "/in", Secret: "s"}
	res, err := newVerifier(t, trusted).verify(trusted)
	require.NoError(t, err)
	require.Equal(t, model.NotConfigured, res.State)
}

// partner is a verifier's partner, whose answer a test sets.
type partner struct {
	*verifier
	integration model.Integration
	status      int
	header      string // Retry-After
	asked       int
	released    []string
}

func newPartner(t *testing.T) *partner {
	t.Helper()
	p := &partner{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		p.asked++
		w.Header().Set("Retry-After", p.header)
		w.WriteHeader(p.status)
	}))
	t.Cleanup(server.Close)
	p.integration = model.Integration{Tenant: "acme", Name: "hris", URL: server.URL + "/in", Secret: "s", Verify: true, Options: model.Options{Retry: []time.Duration{time.Minute, time.Hour}}}
	p.verifier = newVerifier(t, p.integration)
	p.Release = func(_ context.Context, i *model.Integration) error {
		p.released = append(p.released, i.Tenant+"/"+i.Name)
		return errors.New("Temporal went away")
	}
	return p
}

func (p *partner) stored() store.IntegrationStatus {
	p.t.Helper()
	status, err := p.Store.IntegrationStatus(p.t.Context(), &p.integration)
	require.NoError(p.t, err)
	return status
}

// again asks and gives why it is to be asked again, and when.
func (p *partner) again() (class string, wait time.Duration) {
	p.t.Helper()
	_, err := p.verify(p.integration)
	var again *temporal.ApplicationError
	require.ErrorAs(p.t, err, &again)
	return again.Type(), again.NextRetryDelay()
}

// Nothing but 200 will do, and until it comes the retry schedule tells when it is asked again, and a longer Retry-After. What was held
// then goes out; where that can't be done at once the integration is configured all the same.
func TestVerifiedByA200Alone(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	for n, c := range []struct {
		status int
		after  string
		wait   time.Duration
	}{{201, "", time.Minute}, {500, "", time.Hour}, {204, "600", time.Hour}, {503, "3600", time.Hour}} {
		p.status, p.header = c.status, c.after
		class, wait := p.again()
		require.Equal(t, "not_configured", class)
		require.InDelta(t, c.wait.Seconds(), wait.Seconds(), 0.2*c.wait.Seconds())
		status := p.stored()
		require.Equal(t, []any{model.NotConfigured, n + 1}, []any{status.State, status.Attempts})
		require.Contains(t, status.Reason, fmt.Sprintf("VERIFY was answered %d", c.status))
	}
	require.Empty(t, p.released)
	p.status = http.StatusOK
	res, err := p.verify(p.integration)
	require.NoError(t, err)
	require.Equal(t, model.Configured, res.State)
	status := p.stored()
	require.Equal(t, []any{model.Configured, "", 5}, []any{status.State, status.Reason, status.Attempts})
	require.Equal(t, []string{"acme/hris"}, p.released)
	require.Equal(t, 5, p.asked)
}

func TestRetryAfterOfVerifyIsHonoured(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	p.status, p.header = http.StatusServiceUnavailable, "1800"
	_, wait := p.again()
	require.Equal(t, 30*time.Minute, wait)
}

// Who has answered is not asked again, and neither is who was disabled: someone has to enable it.
func TestNobodyIsVerifiedTwice(t *testing.T) {
	t.Parallel()
	for _, state := range []model.IntegrationState{model.Configured, model.Disabled} {
		p := newPartner(t)
		require.NoError(t, p.Store.Write(t.Context(), func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(&p.integration, store.IntegrationStatus{State: state, UpdatedAt: time.Now()})
		}))
		res, err := p.verify(p.integration)
		require.NoError(t, err)
		require.Equal(t, state, res.State)
		require.Zero(t, p.asked)
	}
}

// A verification is of one setting: with another in force it ends, for that has its own. Where the integration is not known, or the
// process ends, it waits for a node that knows it.
func TestVerificationOfWhatIsNotInForce(t *testing.T) {
	t.Parallel()
	p := newPartner(t)
	former := p.integration
	former.Secret = "former"
	res, err := p.verify(former)
	require.NoError(t, err)
	require.Equal(t, model.Removed, res.State)

	known := p.integration
	p.integration.Name = "unknown"
	class, wait := p.again()
	require.Equal(t, []any{"unknown_here", time.Minute}, []any{class, wait})
	p.integration = known
	p.InForce.Drop(p.InForce.Current())
	class, wait = p.again()
	require.Equal(t, []any{"stopping", 5 * time.Second}, []any{class, wait})
	require.Zero(t, p.asked)
}

// The new secret of a rotation is verified while exports go on with the former one, and by itself: the former one signs
// no VERIFY.
func TestANewSecretIsVerifiedBesideTheFormer(t *testing.T) {
	t.Parallel()
	knows := "old"
	var signatures []string
	partner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		signatures = strings.Fields(r.Header.Get("Webhook-Signature"))
		if !webhook.Verify(r.Header.Get("X-Service-Signature"), body, knows) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(partner.Close)
	before := model.Integration{Tenant: "acme", Name: "hris", URL: partner.URL + "/in", Secret: "old", Verify: true,
		Options: model.Options{StandardWebhooks: true}}
	during := before
	during.Secret, during.FormerSecret = "new", "old"
	v := newVerifier(t, during)
	v.Release = func(context.Context, *model.Integration) error { return nil }
	require.NoError(t, v.Store.Write(t.Context(), func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(&before,
			store.IntegrationStatus{State: model.Configured, UpdatedAt: time.Now()})
	}))
	for range 2 {
		_, err := v.verify(during)
		var again *temporal.ApplicationError
		require.ErrorAs(t, err, &again)
		require.Equal(t, "not_configured", again.Type())
		require.Len(t, signatures, 1)
		status, err := v.Store.IntegrationStatus(t.Context(), &during)
		require.NoError(t, err)
		require.True(t, status.Deliverable(&during) && status.ByFormer)
	}
	knows = "new"
	res, err := v.verify(during)
	require.NoError(t, err)
	require.Equal(t, model.Configured, res.State)
}
