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

// A slow answer to VERIFY says nothing of the setting that came meanwhile, and does not bring back what was removed.
func TestLateAnswerToVerify(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []hiring.IntegrationState{hiring.Configured, hiring.Removed} {
		db, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		former := hiring.Integration{Row: hiring.Row{Version: 1}, Tenant: "acme", Name: "hris", Secret: "s", Verify: true}
		next := former
		partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			err := db.Write(context.Background(), func(tx *store.Tx) error {
				return tx.PutIntegrationStatus(&next, store.IntegrationStatus{State: meanwhile, UpdatedAt: time.Now()})
			})
			if err != nil {
				t.Errorf("changing an integration: %v", err)
			}
		}))
		t.Cleanup(partner.Close)
		former.URL, next.URL = partner.URL+"/former", partner.URL+"/next"
		if meanwhile == hiring.Removed {
			next.URL = former.URL
		}
		loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
		require.NoError(t, err)
		names, err := webhook.NamesFor("Service")
		require.NoError(t, err)
		force := new(config.InForce)
		force.Push(&config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}),
			Tenants: map[string]*hiring.Tenant{"acme": {Name: "acme", Integrations: []hiring.Integration{former}}}})
		a := &verification.Activities{Store: db, InForce: force, Now: time.Now, Log: zap.NewNop(), Release: func(context.Context, *hiring.Integration) error {
			t.Error("it released what is held")
			return nil
		}}
		env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
		env.RegisterActivityWithOptions(a.Verify, activity.RegisterOptions{Name: verification.VerifyName})
		_, err = env.ExecuteActivity(verification.VerifyName, verification.Input{Tenant: "acme", Integration: "hris", Setting: hex.EncodeToString(former.Setting())})
		var again *temporal.ApplicationError
		require.True(t, errors.As(err, &again), "%v", err)
		require.Equal(t, "changed", again.Type())
		status, err := db.IntegrationStatus(t.Context(), &next)
		require.NoError(t, err)
		require.Equal(t, meanwhile, status.State)
	}
}

// An integration that is trusted without being asked, since a reload, is not asked any more.
func TestVerificationEndsWhereItIsSwitchedOff(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "hiregate.db"), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	partner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(partner.Close)
	trusted := hiring.Integration{Tenant: "acme", Name: "hris", URL: partner.URL + "/in", Secret: "s"}
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	force := new(config.InForce)
	force.Push(&config.Config{Names: names, Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}),
		Tenants: map[string]*hiring.Tenant{"acme": {Name: "acme", Integrations: []hiring.Integration{trusted}}}})
	a := &verification.Activities{Store: db, InForce: force, Now: time.Now, Log: zap.NewNop(), Release: func(context.Context, *hiring.Integration) error { return nil }}
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.Verify, activity.RegisterOptions{Name: verification.VerifyName})
	value, err := env.ExecuteActivity(verification.VerifyName, verification.Input{Tenant: "acme", Integration: "hris", Setting: hex.EncodeToString(trusted.Setting())})
	require.NoError(t, err)
	var res verification.Result
	require.NoError(t, value.Get(&res))
	require.Equal(t, hiring.NotConfigured, res.State)
}
