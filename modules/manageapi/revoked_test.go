package manageapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// halves is a body; something is done once its first half has been read.
func halves(body string, meanwhile func()) io.Reader {
	first, second := body[:len(body)/2], body[len(body)/2:]
	return io.MultiReader(strings.NewReader(first), doing(meanwhile), strings.NewReader(second))
}

// doing is empty, and does something when it is read.
type doing func()

func (d doing) Read([]byte) (int, error) {
	d()
	return 0, io.EOF
}

// A key that is revoked while a body is on its way is good for nothing that the body asks for.
func TestAKeyIsRevokedWhileABodyArrives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-1", `{}`)
	b.must(http.StatusCreated, http.MethodPut, acme+"/job-applications/a-1", `{"candidate":"c-1"}`)
	b.export("acme", "u-1")
	api := manageapi.NewKeyed(func() *gateway.Gateway { return b.Gateway }, b.Log)
	for n, r := range []struct{ method, path, body, kind string }{
		{http.MethodPut, "/v1/tenants/acme/candidates/c-2", `{"name":{"given":"Zoë"}}`, "application/json"},
		{http.MethodPost, "/v1/api-keys", `{"label":"mine","role":"admin"}`, "application/json"},
		{http.MethodPost, "/v1/tenants/acme/exports/u-1/erase", `{"cancel":true}`, "application/json"},
		{http.MethodPost, "/v1/tenants/acme/job-applications/a-1/documents?id=d-1", "%PDF-1.7 a file", "application/pdf"},
	} {
		id := string(rune('a' + n))
		key := b.key(id, "", model.Admin)
		req := httptest.NewRequest(r.method, r.path, halves(r.body, func() {
			b.Write(t, func(tx *store.Tx) error {
				_, err := tx.RevokeAPIKey(id, b.Clock.Now())
				return err
			})
		}))
		req.Header.Set("Authorization", key)
		req.Header.Set("Content-Type", r.kind)
		req.Header.Set("Idempotency-Key", "i-1")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, req)
		require.Equal(t, http.StatusUnauthorized, w.Code, "%s: %s", r.path, w.Body)
		require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
	}
	require.Zero(t, b.Fingerprints(t))
	b.must(http.StatusNotFound, http.MethodGet, acme+"/candidates/c-2", "")
	require.Equal(t, []string{"a", "b", "c", "d"}, ids(b, "/v1/api-keys"))
	require.NotContains(t, b.must(http.StatusOK, http.MethodGet, acme+"/exports/u-1", "").body, "erasedAt")
	require.Empty(t, ids(b, acme+"/job-applications/a-1/documents"))
	left, err := filepath.Glob(filepath.Join(b.Folder, "documents", "*", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
