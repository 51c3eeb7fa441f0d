package verification_test

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/workflows/verification"
)

// verifier is the verify activity over a real store, for an integration at a partner.
type verifier struct {
	*verification.Activities
	t *testing.T
}

func newVerifier(t *testing.T, i hiring.Integration) *verifier {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	force := new(config.InForce)
	force.Push(&config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}),
		Tenants: map[string]*hiring.Tenant{"acme": {Name: "acme", Integrations: []hiring.Integration{i}}}})
	return &verifier{t: t, Activities: &verification.Activities{Store: db, InForce: force, Now: time.Now, Log: zap.NewNop(), Release: func(context.Context, *hiring.Integration) error {
		t.Error("it released what is held")
		return nil
	}}}
}

// verify runs the activity once.
func (v *verifier) verify(i hiring.Integration) (res verification.Result, err error) {
	v.t.Helper()
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(v.Verify, activity.RegisterOptions{Name: verification.VerifyName})
	value, err := env.ExecuteActivity(verification.VerifyName, verification.Input{Tenant: i.Tenant, Integration: i.Name, Setting: hex.EncodeToString(i.Setting())})
	if err == nil {
		require.NoError(v.t, value.Get(&res))
	}
	return res, err
}

// A slow answer to VERIFY says nothing of the setting that came meanwhile, and does not bring back what was removed.
func TestLateAnswerToVerify(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []hiring.IntegrationState{hiring.Configured, hiring.Removed} {
		var v *verifier
		var next hiring.Integration
		partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			err := v.Store.Write(context.Background(), func(tx *store.Tx) error {
				return tx.PutIntegrationStatus(&next, store.IntegrationStatus{State: meanwhile, UpdatedAt: time.Now()})
			})
			if err != nil {
				t.Errorf("changing an integration: %v", err)
			}
		}))
		t.Cleanup(partner.Close)
		former := hiring.Integration{Row: hiring.Row{Version: 1}, Tenant: "acme", Name: "hris", URL: partner.URL + "/former", Secret: "s", Verify: true}
		next = former
		if meanwhile != hiring.Removed {
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
	trusted := hiring.Integration{Tenant: "acme", Name: "hris", URL: partner.URL + "/in", Secret: "s"}
	res, err := newVerifier(t, trusted).verify(trusted)
	require.NoError(t, err)
	require.Equal(t, hiring.NotConfigured, res.State)
}
