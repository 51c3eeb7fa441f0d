package storetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Pooler starts a pgbouncer in front of a database, in one of its pool modes, and returns the database's address there.
func Pooler(t *testing.T, address, mode string) string {
	t.Helper()
	behind, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	port, err := freePort()
	require.NoError(t, err)
	owner, err := unprivileged()
	require.NoError(t, err)
	folder, err := os.MkdirTemp("", "hiregate-pgbouncer-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	config := filepath.Join(folder, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, "[databases]\n* = host=%s port=%d user=%s\n[pgbouncer]\n"+
		"listen_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\n", behind.Host, behind.Port,
		behind.User, port, mode), 0o644))
	if owner != nil {
		require.NoError(t, os.Chown(folder, int(owner.Uid), int(owner.Gid)))
	}
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer"
	}
	pooler := exec.Command(path, config)
	pooler.Dir = folder
	pooler.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, pooler.Start(), "run make deps")
	t.Cleanup(func() {
		_ = pooler.Process.Kill()
		_ = pooler.Wait()
	})
	pooled := fmt.Sprintf("postgres://hiregate@127.0.0.1:%d/%s?sslmode=disable", port, behind.Database)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := pgx.Connect(ctx, pooled)
		if err != nil {
			return false
		}
		return conn.Close(ctx) == nil
	}, patience, 20*time.Millisecond, "pgbouncer does not come up")
	return pooled
}
