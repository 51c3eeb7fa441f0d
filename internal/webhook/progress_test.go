package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// An answer says where it came from, with which header, and what of the time went where.
func TestAnswerHasHeaderAddressAndPhases(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Server", "hris/2.1")
		h.Add("Set-Cookie", "session=credential")
		h.Add("Via", "1.1 one")
		h.Add("Via", "1.1 two")
		h["Date"] = nil
		h.Set("A-Long", strings.Repeat("x", webhook.AnswerHeaderBound))
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(srv.Close)
	n := names(t)
	d := webhook.Delivery{URL: srv.URL + "/x", Secret: "s", Event: webhook.EventExport, Body: []byte("{}")}
	first, err := n.Send(t.Context(), srv.Client(), d)
	require.NoError(t, err)
	require.Equal(t, "Content-Length: 0\nServer: hris/2.1\nVia: 1.1 one\nVia: 1.1 two\n", string(first.Header))
	require.Equal(t, srv.Listener.Addr().String(), first.Address)
	for name, took := range map[string]time.Duration{"connect": first.Phases.Connect, "tls": first.Phases.TLS,
		"first byte": first.Phases.FirstByte} {
		require.Positive(t, took, name)
		require.LessOrEqual(t, took, first.Duration, name)
	}
	again, err := n.Send(t.Context(), srv.Client(), d)
	require.NoError(t, err)
	require.Equal(t, model.Phases{FirstByte: again.Phases.FirstByte}, again.Phases, "the connection was open")
	require.Equal(t, first.Address, again.Address)
}

// An attempt that finds nobody says where it looked, and metrics tell that from other failures.
func TestAddressOfAFailedConnection(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	address := srv.Listener.Addr().String()
	srv.Close()
	a, err := send(t, "http://"+address)
	var failed *webhook.SendError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "connection_refused", failed.Cause())
	require.Equal(t, address, a.Address)
	require.Zero(t, a.Phases.FirstByte)
	require.Equal(t, "egress", (&webhook.SendError{Kind: webhook.KindRefused}).Cause())
	require.Equal(t, "timeout", (&webhook.SendError{Kind: webhook.KindTimeout}).Cause())
}
