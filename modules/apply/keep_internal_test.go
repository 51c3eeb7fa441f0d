package apply

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/gateway/gatewaytest"
)

// However late a token is revoked: the transaction of the application looks at it.
func TestAnApplicationsTransactionLooksAtTheToken(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	_, token := identity.NewSecret()
	u := &hiring.APIUser{ID: "u-1", Tenant: "acme", Name: "partner@example.com", Password: "hash", CreatedAt: b.Clock.Now()}
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.AddAPIUser(u); err != nil {
			return err
		}
		_, err := tx.IssueAPIToken(u, token, b.Clock.Now())
		return err
	})
	x := &exchange{db: b.Runtime.Store(), user: u, token: token}
	w := &writing{submission: &submission{exchange: x, id: "a-1", began: b.Clock.Now()}, filled: &filled{sheet: &sheet{job: &hiring.Job{BoardCode: "NURSE-1"}}}}
	require.ErrorIs(t, x.db.Write(t.Context(), w.write), errClosed, "it went on, and there is no such job")
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.DisableAPIUser("acme", "u-1", b.Clock.Now())
		return err
	})
	require.ErrorIs(t, x.db.Write(t.Context(), w.write), errRevoked)
}
