package exporttest

import (
	"io"
	"net/http"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
)

// Take puts an export through the door that is changed before.
func (b *Fixture) Take(key, body string, change func(*model.Export)) *model.Export {
	b.T.Helper()
	return b.TakeFor("acme", key, body, change)
}

func (b *Fixture) TakeFor(tenant, key, body string, change func(*model.Export)) *model.Export {
	b.T.Helper()
	e := inbox.NewExport(tenant, key, []byte(body), b.Clock())
	change(e)
	_, err := inbox.Accept(b.T.Context(), b.Store, e)
	require.NoError(b.T, err)
	return e
}

// Record has the partner keep what comes to it.
func (b *Fixture) Record() (bodies *[]string, headers *[]http.Header) {
	bodies, headers = new([]string), new([]http.Header)
	b.Partner.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*bodies, *headers = append(*bodies, string(body)), append(*headers, r.Header.Clone())
		w.WriteHeader(int(b.Status.Load()))
	})
	return bodies, headers
}

// Observe has the fixture log what it could not store.
func (b *Fixture) Observe() *observer.ObservedLogs {
	core, logged := observer.New(zapcore.DebugLevel)
	b.Log = zap.New(core)
	return logged
}
