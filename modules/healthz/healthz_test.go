package healthz_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to hold the database

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/healthz"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

var (
	good       = healthz.Check{OK: true}
	noDatabase = healthz.Check{Reason: "the database can't be written"}
	noTemporal = healthz.Check{Reason: "Temporal does not answer; exports are accepted and wait"}
	// beside a database that can't be written
	neither = healthz.Check{Reason: "Temporal does not answer"}
)

func health(status string, database, temporal healthz.Check) healthz.Health {
	return healthz.Health{Status: status, Checks: map[string]healthz.Check{"database": database, "temporal": temporal,
		"documents": good}}
}

func ask(t require.TestingT, b *gatewaytest.Fixture, method string) (*httptest.ResponseRecorder, healthz.Health) {
	w := httptest.NewRecorder()
	(&healthz.Server{Gateway: b.Gateway}).ServeHTTP(w, httptest.NewRequest(method, "/healthz", nil))
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.DisallowUnknownFields()
	var h healthz.Health
	if w.Header().Get("Content-Type") == "application/json" {
		require.NoError(t, d.Decode(&h))
	}
	return w, h
}

func TestDegradedWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		began := time.Now()
		w, h := ask(t, b, method)
		require.Less(t, time.Since(began), 10*time.Second, "whoever asks would have gone")
		require.Equal(t, http.StatusOK, w.Code, "exports are accepted")
		require.Equal(t, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}, w.Header())
		require.Equal(t, health("degraded", good, noTemporal), h)
	}
}

// What keeps the gateway from using Temporal is named, without Temporal's address.
func TestTheCauseIsNamed(t *testing.T) {
	t.Parallel()
	encrypted := httptest.NewUnstartedServer(nil)
	encrypted.EnableHTTP2 = true
	encrypted.StartTLS()
	t.Cleanup(encrypted.Close)
	b := gatewaytest.NewAt(t, t.TempDir(), encrypted.Listener.Addr().String())
	_, h := ask(t, b, http.MethodGet)
	require.Equal(t, "degraded", h.Status)
	require.Regexp(t, `^Temporal's answer .*set tls of temporal; exports are accepted and wait$`,
		h.Checks["temporal"].Reason)
}

// From the signal on, a load balancer is told to send nothing more, while what runs the process lets it end.
func TestStopping(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	stopping := false
	b.Gateway.Exiting = func() bool { return stopping }
	s := healthz.Server{Gateway: b.Gateway}
	says := func(path string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return fmt.Sprint(w.Code, " ", w.Body)
	}
	const ended = `503 {"status":"stopping","checks":{"gateway":{"ok":false,"reason":"the gateway is stopping: send what comes next to another one"}}}` + "\n"
	const alive = `200 {"status":"ok","checks":{}}` + "\n"
	require.Contains(t, says("/healthz"), `200 {"status":"degraded"`)
	require.Equal(t, `200 {"status":"ok","checks":{"database":{"ok":true}}}`+"\n", says("/healthz/ready"),
		"exports are accepted")
	require.Equal(t, alive, says("/healthz/live"))
	stopping = true
	require.Equal(t, ended, says("/healthz"))
	require.Equal(t, ended, says("/healthz/ready"))
	require.Equal(t, alive, says("/healthz/live"))
	stopping = false
	require.NoError(t, b.Runtime.Store().Close())
	b.Clock.Advance(time.Second)
	require.Contains(t, says("/healthz/ready"), `503 {"status":"unavailable"`)
	require.Equal(t, alive, says("/healthz/live"), "another process would not have the database either")
}

// Anybody may ask, and each answer of the database costs it a write of 64 KiB.
func TestTheDatabaseIsAskedOnceASecond(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	s := healthz.Server{Gateway: b.Gateway}
	askOften := func() {
		for range 50 {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz/ready", nil))
			require.Equal(t, http.StatusOK, w.Code)
		}
	}
	writes := func() int64 { return b.Runtime.Store().Work().Writes }
	require.Eventually(t, func() bool { return writes() > 0 }, time.Minute, time.Millisecond, "the gateway asks itself when it starts")
	askOften()
	require.EqualValues(t, 1, writes())
	b.Clock.Advance(time.Second)
	hungUp, hangUp := context.WithCancel(t.Context())
	hangUp() // whoever asks first is gone: that says nothing of the database
	s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/healthz/ready", nil).WithContext(hungUp))
	askOften()
	require.EqualValues(t, 1, writes())
}

func TestUnavailableWithoutTheStore(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	require.NoError(t, b.Runtime.Store().Close())
	w, h := ask(t, b, http.MethodGet)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, health("unavailable", noDatabase, neither), h)
	require.NotContains(t, w.Body.String(), b.Folder, "a public answer names what is behind it")
	require.NotContains(t, w.Body.String(), gatewaytest.Nowhere, "a public answer names what is behind it")
}

// Whoever asks has not long to wait, however long the database takes.
func TestDatabaseThatHangsIsUnavailableWithinSeconds(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	other, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?_txlock=immediate&_pragma=busy_timeout(60000)")
	require.NoError(t, err)
	defer other.Close()
	tx, err := other.Begin()
	require.NoError(t, err)
	defer tx.Rollback()
	for range 2 { // the first one's write is the one that hangs
		began := time.Now()
		w, h := ask(t, b, http.MethodGet)
		require.Less(t, time.Since(began), 6*time.Second)
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, health("unavailable", noDatabase, neither), h)
	}
}

// Nobody may be sending while the database can't be written: the log says why all the same, and not for each who asks.
func TestDatabaseThatCannotBeWrittenIsToldOnce(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for outage := 1; outage <= 2; outage++ {
		_, err = db.ExecContext(t.Context(), "ALTER TABLE heartbeat RENAME TO elsewhere")
		require.NoError(t, err)
		for range 3 {
			_, h := ask(t, b, http.MethodGet)
			require.Equal(t, noDatabase, h.Checks["database"])
		}
		require.Eventually(t, func() bool { // tests beside this one have databases that can be written
			ask(t, b, http.MethodGet)
			return metricstest.Gauge(t, "hiregate_database_up") == 0
		}, 30*time.Second, time.Millisecond)
		told := b.Logged.FilterMessage("the database can't be written: exports are refused until it can be").All()
		require.Len(t, told, outage)
		require.Contains(t, told[outage-1].ContextMap()["error"], "heartbeat", "why")
		needs, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
		require.NoError(t, err)
		require.Equal(t, model.NeedUnwritable, needs[0].Kind)
		require.Contains(t, needs[0].Sentence, "and exports are refused: ")
		_, err = db.ExecContext(t.Context(), "ALTER TABLE elsewhere RENAME TO heartbeat")
		require.NoError(t, err)
		for range 2 {
			_, h := ask(t, b, http.MethodGet)
			require.Equal(t, good, h.Checks["database"])
		}
		needs, err = b.Runtime.Needs(t.Context(), b.Clock.Now())
		require.NoError(t, err)
		require.Empty(t, needs)
		require.Equal(t, outage, b.Logged.FilterMessage("the database can be written again").Len())
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	b := gatewaytest.New(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		w, _ := ask(t, b, method)
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
}

// A real Temporal comes, goes and comes back.
func TestHealthFollowsTemporal(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().(*net.TCPAddr)
	require.NoError(t, l.Close())
	folder := t.TempDir()
	b := gatewaytest.NewAt(t, folder, address.String())
	becomes := func(want healthz.Health) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			w, h := ask(c, b, http.MethodGet)
			assert.Equal(c, want, h)
			assert.Equal(c, map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[want.Checks["database"].OK],
				w.Code)
		}, 90*time.Second, 100*time.Millisecond)
	}
	becomes(health("degraded", good, noTemporal))
	stop := temporaltest.Start(t, folder, address.Port)
	becomes(health("ok", good, good))
	stop()
	becomes(health("degraded", good, noTemporal))
	temporaltest.Start(t, folder, address.Port)
	becomes(health("ok", good, good))
	require.NoError(t, b.Runtime.Store().Close())
	becomes(health("unavailable", noDatabase, good))
}
