package receiver_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// doing is empty, and does something when it is read.
type doing func()

func (d doing) Read([]byte) (int, error) {
	d()
	return 0, io.EOF
}

// A body is judged by the secrets that its tenant has once it is there.
func TestASecretEndsWhileABodyArrives(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	initech := &model.Tenant{Name: "initech", Secrets: []model.Secret{"former"}}
	write := func(fn func(*store.Tx) error) {
		b.Write(t, fn)
		require.NoError(t, b.Runtime.Directory.Refresh(t.Context()))
	}
	write(func(tx *store.Tx) error { return tx.UpsertTenant(initech, b.Clock.Now()) })
	q := request{path: "/hooks/initech", secret: "former"}
	require.Equal(t, http.StatusAccepted, b.send(q).Code)
	for _, meanwhile := range []struct {
		status int
		do     func(*store.Tx) error
	}{
		{http.StatusUnauthorized, func(tx *store.Tx) error {
			initech.Secrets = []model.Secret{"present"}
			return tx.UpsertTenant(initech, b.Clock.Now())
		}},
		{http.StatusNotFound, func(tx *store.Tx) error { return tx.DeleteTenant(initech) }},
	} {
		body := another(meanwhile.status)
		r := request{path: "/hooks/initech", secret: initech.Secrets[0].Reveal(), body: body}.make()
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:100]), doing(func() { write(meanwhile.do) }),
			bytes.NewReader(body[100:])))
		require.Equal(t, meanwhile.status, b.do(r).Code)
		require.Len(t, b.Exports(t), 1)
	}
}
