package apply

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// However late a token is revoked: the transaction of the application looks at it.
func TestAnApplicationsTransactionLooksAtTheToken(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	_, token := identity.NewSecret()
	u := &model.APIUser{ID: "u-1", Tenant: "acme", Name: "partner@example.com", Password: "hash",
		CreatedAt: b.Clock.Now()}
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.InsertAPIUser(u); err != nil {
			return err
		}
		_, err := tx.InsertAPIToken(u, token, b.Clock.Now())
		return err
	})
	s := &receivedAnswers{caller: &caller{u, token}, id: "a-1", began: b.Clock.Now()}
	requireRefused := func(want error) {
		t.Helper()
		err := b.Runtime.Store().Write(t.Context(), func(tx *store.Tx) error {
			_, _, _, err := s.write(tx, &sheet{job: &model.Job{BoardCode: "NURSE-1"}}, nil, nil)
			return err
		})
		require.ErrorIs(t, err, want)
	}
	requireRefused(errNoJob) // it went on, and there is no such job
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.DisableAPIUser("acme", "u-1", b.Clock.Now())
		return err
	})
	requireRefused(errBadToken)
}
