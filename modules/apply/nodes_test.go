package apply_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// beside sends an application while another node is in the middle of a transaction.
func beside(
	t *testing.T, prepare func(*fixture), fn func(tx *store.Tx, meanwhile func() error) error,
) (*fixture, *httptest.ResponseRecorder) {
	t.Helper()
	address := storetest.Postgres(t)
	b := setupOn(t, gatewaytest.NewOn(t, address))
	prepare(b)
	bearer := b.bearer(partner)
	var answer *httptest.ResponseRecorder
	gatewaytest.Beside(t, address, fn, func() { answer = b.apply(application(t, code, fine(t)), bearer...) })
	return b, answer
}

func putAda(tx *store.Tx) error {
	return tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "acme"}, ID: "ada",
		Email: []string{"ada@example.com"}}, gatewaytest.Noon)
}

func TestTwoNodesMakeOneCandidateOfOneAddress(t *testing.T) {
	t.Parallel()
	b, answer := beside(t, func(*fixture) {}, func(tx *store.Tx, meanwhile func() error) error {
		if _, _, err := tx.LockCandidateByEmail("acme", "ADA@example.com"); err != nil {
			return err
		}
		if err := meanwhile(); err != nil {
			return err
		}
		return putAda(tx)
	})
	b.requireTaken(answer)
	require.Equal(t, "ada", b.applications("acme")[0].Candidate)
}

func TestApplyingAsACandidateWhoIsDeletedOnAnotherNode(t *testing.T) {
	t.Parallel()
	b, answer := beside(t, func(b *fixture) { b.Write(t, putAda) }, func(tx *store.Tx, meanwhile func() error) error {
		c, _, err := tx.Candidate("acme", "ada")
		if err != nil {
			return err
		}
		if err := tx.DeleteCandidate(c); err != nil {
			return err
		}
		return meanwhile()
	})
	b.requireTaken(answer)
	_, err := b.Runtime.Store().Candidate(t.Context(), "acme", b.applications("acme")[0].Candidate)
	require.NoError(t, err)
}

func TestApplyingForAJobThatIsDeletedOnAnotherNode(t *testing.T) {
	t.Parallel()
	b, answer := beside(t, func(*fixture) {}, func(tx *store.Tx, meanwhile func() error) error {
		j, _, err := tx.Job("acme", code)
		if err != nil {
			return err
		}
		if err := tx.DeleteJob(j); err != nil {
			return err
		}
		return meanwhile()
	})
	require.Equal(t, http.StatusBadRequest, answer.Code, "%s", answer.Body)
	require.Empty(t, b.applications("acme"))
}
