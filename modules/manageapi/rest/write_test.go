package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// However late a key is revoked: the transaction that writes looks at it.
func TestAWriteLooksAtTheKey(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	key, hash := model.NewAPIKey()
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertAPIKey(&model.APIKey{ID: "k-1", Role: model.Admin, CreatedAt: b.Clock.Now()}, hash)
	})
	r := &Request{Request: httptest.NewRequest(http.MethodPut, "/", nil), Gateway: b.Gateway, DB: b.Runtime.Store(),
		Log: b.Log, Caller: Caller{ID: "k-1", Key: key}}
	wrote := 0
	write := func(*store.Tx) error { wrote++; return nil }
	require.NoError(t, r.Update(write))
	require.Equal(t, 1, wrote)
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.RevokeAPIKey("k-1", b.Clock.Now())
		return err
	})
	p := new(problem.Problem)
	require.ErrorAs(t, r.Update(write), &p)
	require.Equal(t, http.StatusUnauthorized, p.Status)
	require.Equal(t, 1, wrote)
}
