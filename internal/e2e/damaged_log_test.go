package e2e

import (
	"encoding/binary"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// A bit of the write-ahead log flips while the gateway is down after a crash. It does not start without the exports
// behind it, until a person says so, and its supervisor can tell that.
func TestDamagedLogWaitsForAPerson(t *testing.T) {
	t.Parallel()
	s := newReceiver(t, setup{})
	for _, uuid := range []string{"u-1", "u-2", "u-3"} {
		status, _, err := s.send(uuid, minimal(uuid))
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, status)
	}
	s.gateway.kill()
	name := filepath.Join(s.dir, "hiregate.db")
	log, err := os.ReadFile(name + "-wal")
	require.NoError(t, err)
	page := int(binary.BigEndian.Uint32(log[8:]))
	log[32+24+page/2] ^= 1 // in the page of the first frame
	require.NoError(t, os.WriteFile(name+"-wal", log, 0o600))

	refused := s.runGateway()
	require.Equal(t, terminal.ExitDamaged, refused.exitCode(), refused.out.String())
	require.Contains(t, refused.out.String(), "hiregate database cut-log sqlite://"+name)
	out, code := run(t, nil, hiregate(t), "database", "cut-log", "sqlite://"+name)
	require.Zero(t, code, out)
	require.Contains(t, out, "the database is whole")
	s.startGateway()
}
