package store_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3/lock"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// session is a connection of the test's own to a database, and the database's name.
func session(t *testing.T, address string) (conn *pgx.Conn, name string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn, conn.Config().Database
}

func TestOnlyUTF8IsOpened(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	conn, name := session(t, address)
	for _, encoding := range []string{"LATIN1", "SQL_ASCII"} {
		other := name + "_" + strings.ToLower(encoding)
		_, err := conn.Exec(t.Context(), `CREATE DATABASE `+other+` ENCODING '`+encoding+`' LOCALE 'C' TEMPLATE template0`)
		require.NoError(t, err)
		_, err = store.Open(t.Context(), strings.Replace(address, name, other, 1), store.Options{})
		require.ErrorContains(t, err, "is in "+encoding+": make another (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)")
	}
}

// A user who lacks a right is told which one.
func TestRightsThatLackAreNamed(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	conn, name := session(t, address)
	_, err := conn.Exec(t.Context(), `CREATE ROLE poor_`+name+` LOGIN`)
	require.NoError(t, err)
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.User("poor_" + name)
	_, err = store.Open(t.Context(), u.String(), store.Options{})
	require.ErrorContains(t, err, "may not make or change tables in the database "+name+": make them its owner (ALTER DATABASE")
	_, err = conn.Exec(t.Context(), `REVOKE CONNECT ON DATABASE `+name+` FROM PUBLIC`)
	require.NoError(t, err)
	_, err = store.Open(t.Context(), u.String(), store.Options{})
	require.ErrorContains(t, err, "may not connect to the database "+name+": let them (GRANT CONNECT")
}

// A replica takes no writes: a gateway waits for it to be promoted, as it does for a server that is not there yet.
func TestOpeningWaitsForAPrimary(t *testing.T) {
	t.Parallel()
	server := storetest.StartServer(t)
	address := server.Address("postgres")
	require.NoError(t, server.Stop())
	require.NoError(t, server.Demote())
	require.NoError(t, server.Start())
	waiting := func(ctx context.Context, address string) <-chan error {
		core, logged := observer.New(zap.InfoLevel)
		opened := make(chan error, 1)
		go func() {
			db, err := store.Open(ctx, address, store.Options{Log: zap.New(core)})
			if err == nil {
				err = errors.Join(db.Ping(ctx), db.Close())
			}
			opened <- err
		}()
		require.Eventually(t, func() bool { return logged.FilterMessageSnippet("takes no writes yet").Len() == 1 }, 20*time.Second, 5*time.Millisecond)
		return opened
	}
	for what, hold := range map[string]func(*storetest.Wire){
		"between two looks": func(*storetest.Wire) {},
		"within a look": func(wire *storetest.Wire) {
			wire.Silence(true)
			require.Eventually(t, wire.Holding, 20*time.Second, 5*time.Millisecond)
		},
	} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		wire := storetest.NewWire(t, address)
		opened := waiting(ctx, wire.Address)
		hold(wire)
		stop()
		err := <-opened
		require.ErrorContains(t, err, "is a replica, which takes no writes", what)
		require.ErrorContains(t, err, "write the primary's host and port", what)
	}

	opened := waiting(t.Context(), address)
	conn, _ := session(t, address)
	_, err := conn.Exec(t.Context(), `SELECT pg_promote()`)
	require.NoError(t, err)
	require.NoError(t, <-opened)
}

// A gateway that waits for another one's migration says so, and stops waiting when it is to end.
func TestWaitingForAMigrationIsTold(t *testing.T) {
	t.Parallel()
	address := storetest.EmptyPostgres(t)
	conn, _ := session(t, address)
	_, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock($1)`, lock.DefaultLockID)
	require.NoError(t, err)
	core, logged := observer.New(zap.InfoLevel)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	opened := make(chan error, 1)
	go func() {
		_, err := store.Open(ctx, address, store.Options{Log: zap.New(core)})
		opened <- err
	}()
	require.Eventually(t, func() bool { return logged.FilterMessageSnippet("waiting for another gateway").Len() == 1 }, 30*time.Second, 10*time.Millisecond)
	stop()
	select {
	case err := <-opened:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(30 * time.Second):
		require.Fail(t, "it waits on")
	}
}
