package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// Two nodes whose transactions wait for each other crosswise: PostgreSQL ends one, which runs again.
func TestAClosureThatCollidesRunsAgain(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	var met, group sync.WaitGroup
	met.Add(2)
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		if order[0] == "a" {
			write(t, db, func(tx *store.Tx) error {
				for _, name := range order {
					if err := tx.UpsertIntegrationStatus(&model.Integration{Tenant: "acme", Name: name}, store.IntegrationStatus{UpdatedAt: noon}); err != nil {
						return err
					}
				}
				return nil
			})
		}
		runs := 0
		group.Go(func() {
			err := db.Write(t.Context(), func(tx *store.Tx) error {
				runs++
				for n, name := range order {
					if err := tx.UpsertIntegrationStatus(&model.Integration{Tenant: "acme", Name: name}, store.IntegrationStatus{UpdatedAt: noon}); err != nil {
						return err
					}
					if n == 0 && runs == 1 {
						met.Done()
						met.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("a closure that collided did not run again: %v", err)
			}
		})
	}
	group.Wait()
}

// Two nodes that begin the next round of an export at once begin one after the other, not the same one twice.
func TestRoundsOfTwoNodes(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	one, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, one.Close()) })
	two, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, two.Close()) })
	for n := range 50 {
		e := export("acme", fmt.Sprint(n), "b")
		require.True(t, insert(t, one, e))
		write(t, one, func(tx *store.Tx) error { return tx.MarkDispatched(e.ID, 0, noon) })
		var group sync.WaitGroup
		for db, integration := range map[*store.DB]string{one: "hris", two: "crm"} {
			group.Go(func() {
				if err := db.Write(t.Context(), func(tx *store.Tx) error {
					_, err := tx.BeginRound(e.ID, []string{integration}, noon, noon.Add(time.Hour))
					return err
				}); err != nil {
					t.Errorf("beginning a round: %v", err)
				}
			})
		}
		group.Wait()
		got, err := one.Export(t.Context(), e.ID)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"hris", "crm"}, got.Integrations, "a redelivery was lost")
	}
}

// A gateway that is started beside its PostgreSQL waits for it; one whose PostgreSQL does not come says so.
func TestOpeningWaitsForPostgreSQL(t *testing.T) {
	t.Parallel()
	server := storetest.StartServer(t)
	address := server.Address("postgres")
	require.NoError(t, server.Stop())
	short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := store.Open(short, strings.Replace(address, "hiregate@", "hiregate:hunter2@", 1), store.Options{})
	require.ErrorContains(t, err, "no PostgreSQL answers at 127.0.0.1:")
	require.ErrorContains(t, err, "start it, or correct the host and port")
	require.NotContains(t, err.Error(), "hunter2")

	core, logged := observer.New(zap.InfoLevel)
	waiting := func() bool { return logged.FilterMessageSnippet("waiting for PostgreSQL").Len() > 0 }
	opened := make(chan error, 1)
	go func() {
		db, err := store.Open(t.Context(), address, store.Options{Log: zap.New(core)})
		if err == nil {
			err = errors.Join(db.Ping(t.Context()), db.Close())
		}
		opened <- err
	}()
	require.Eventually(t, waiting, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, server.Start())
	require.NoError(t, <-opened)
	require.Equal(t, 1, logged.FilterMessageSnippet("waiting for PostgreSQL").Len(), "it says more than once what it waits for")
}
