package oidcclient_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/oidcclient"
)

// discovered gives the address of the metadata where people are sent.
func discovered(ctx context.Context, p *oidcclient.Provider) (string, error) {
	found, err := p.Discover(ctx)
	if err != nil {
		return "", err
	}
	return found.Endpoint().AuthURL, nil
}

// One request for all who need the metadata at the same time, each of whom waits as long as they like; a failure is
// not asked for again at once.
func TestReadingMetadata(t *testing.T) {
	t.Parallel()
	var asked, status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	came, answer := make(chan struct{}, 10), make(chan struct{})
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		came <- struct{}{}
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		w.WriteHeader(int(status.Load()))
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/%d"}`, server.URL, server.URL, asked.Load())
	}))
	t.Cleanup(server.Close)
	clock := gatewaytest.New(t).Clock
	u := &oidcclient.Provider{Issuer: server.URL, Client: server.Client(), Now: clock.Now}

	gone, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	failed := make(chan error, 5)
	for range cap(failed) {
		waiting.Go(func() { _, err := discovered(t.Context(), u); failed <- err })
	}
	<-came
	leave()
	_, err := discovered(gone, u)
	require.ErrorIs(t, err, context.Canceled, "somebody waits for what others asked, though they are gone")
	close(answer)
	waiting.Wait()
	for range cap(failed) {
		require.ErrorContains(t, <-failed, "503")
	}
	_, err = discovered(t.Context(), u)
	require.ErrorContains(t, err, "503")
	require.Equal(t, int64(1), asked.Load())
	requests := func(result string) float64 {
		return metricstest.Counter(t, "hiregate_openid_provider_requests_total", server.URL, result)
	}
	require.Equal(t, []float64{1, 0}, []float64{requests("failed"), requests("answered")})

	status.Store(http.StatusOK)
	clock.Advance(11 * time.Second)
	at := func() string {
		t.Helper()
		found, err := discovered(t.Context(), u)
		require.NoError(t, err)
		return found
	}
	require.Equal(t, server.URL+"/2", at())
	clock.Advance(59 * time.Minute)
	require.Equal(t, server.URL+"/2", at())
	require.Equal(t, int64(2), asked.Load())
	require.Equal(t, []float64{1, 1}, []float64{requests("failed"), requests("answered")})

	// It is read again while what is known goes on.
	clock.Advance(2 * time.Minute)
	require.Equal(t, server.URL+"/2", at())
	eventually := func(done func(found string, err error) bool) {
		t.Helper()
		require.Eventually(t, func() bool { return done(discovered(t.Context(), u)) }, time.Minute, time.Millisecond)
	}
	eventually(func(found string, _ error) bool { return found == server.URL+"/3" })
	status.Store(http.StatusServiceUnavailable)
	clock.Advance(time.Hour)
	lost := false
	eventually(func(found string, err error) bool {
		clock.Advance(11 * time.Second)
		lost = lost || err != nil || found != server.URL+"/3"
		return asked.Load() > 5
	})
	require.False(t, lost, "what was known is lost where it can't be read again")
}

// The answers of a provider are read by libraries that read to the end.
func TestAnswersOfAProviderAreBounded(t *testing.T) {
	t.Parallel()
	var sent int
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for piece := make([]byte, 64<<10); sent < 256<<20; sent += len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	u := &oidcclient.Provider{Issuer: server.URL, Client: server.Client(), Now: time.Now}
	_, err := discovered(t.Context(), u)
	require.ErrorContains(t, err, "http: request body too large")
	<-ended
	require.Less(t, sent, 256<<20)
}

// A provider whose certificate is of an internal authority is reached once that is named, and before the error says so.
func TestAnAuthorityOfItsOwn(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q}`, server.URL, server.URL+"/authorize")
	}))
	t.Cleanup(server.Close)
	guard := egress.New(egress.Policy{Allow: []egress.Allowance{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(guard.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	for _, file := range []string{"", ca} {
		client, err := guard.ClientFor(file)
		require.NoError(t, err)
		address, err := discovered(t.Context(), &oidcclient.Provider{Issuer: server.URL, Client: client, Now: time.Now})
		if file == "" {
			require.ErrorIs(t, err, oidcclient.ErrAuthority)
			require.ErrorContains(t, err, "name the file of that authority with ca")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, server.URL+"/authorize", address)
	}
	_, err := guard.ClientFor(ca + ".none")
	require.ErrorContains(t, err, "ca: open ")
	require.NoError(t, os.WriteFile(ca, []byte("no certificate"), 0o600))
	_, err = guard.ClientFor(ca)
	require.ErrorContains(t, err, "ca: there is no certificate in ")
}
