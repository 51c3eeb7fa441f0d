package receiver_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	_ "modernc.org/sqlite" // to break the database
)

// told is what the log says of refused exports: level, and how many.
func (b fixture) told() (lines []string) {
	for _, entry := range b.Logged.All() {
		n, counted := entry.ContextMap()["refused"]
		switch {
		case counted:
			lines = append(lines, fmt.Sprint(entry.Level, " ", n))
		case entry.Message == refusedOnce:
			lines = append(lines, entry.Level.String())
		}
	}
	return lines
}

const refusedOnce = "an export was not accepted; its sender was told to send it again. Exports are rejected until the " +
	"database can be written"

// A database that can't be written refuses each export, and not each has a line.
func TestOutageIsToldOnceThenCountedAndItsEndOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	rename := func(from, to string) {
		_, err := db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to)
		require.NoError(t, err)
	}
	n := 0
	send := func(status int) {
		n++
		require.Equal(t, status, b.send(request{uuid: fmt.Sprint("u-", n), body: another(n)}).Code)
	}

	send(http.StatusAccepted)
	require.Empty(t, b.told())
	rename("export_bodies", "elsewhere")
	for range 18 { // three minutes
		send(http.StatusServiceUnavailable)
		b.Clock.Advance(10 * time.Second)
	}
	send(http.StatusServiceUnavailable)
	outage := []string{"error", "error 7", "error 13", "error 19"}
	require.Equal(t, outage, b.told())
	require.Equal(t, 1, b.Logged.FilterMessage(refusedOnce).FilterField(zap.String("tenant", "acme")).Len())

	for range 3 { // as it ends, one gets through and the next does not
		rename("elsewhere", "export_bodies")
		b.Clock.Advance(time.Second)
		send(http.StatusAccepted)
		rename("export_bodies", "elsewhere")
		send(http.StatusServiceUnavailable)
	}
	rename("elsewhere", "export_bodies")
	b.Clock.Advance(4 * time.Second)
	send(http.StatusAccepted)
	require.Equal(t, outage, b.told())
	b.Clock.Advance(time.Second)
	send(http.StatusAccepted)
	send(http.StatusAccepted)
	outage = append(outage, "info 22")
	require.Equal(t, outage, b.told())

	rename("export_bodies", "elsewhere")
	send(http.StatusServiceUnavailable)
	require.Equal(t, append(outage, "error"), b.told(), "the next outage was not told")
}
