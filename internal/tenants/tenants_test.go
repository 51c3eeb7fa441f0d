package tenants_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	_ "modernc.org/sqlite" // to damage what is stored

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
	"github.com/hiregate/hiregate/internal/tenants"
	"github.com/hiregate/hiregate/internal/vault"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, address string) *tenants.Directory {
	t.Helper()
	return openWith(t, address, nil)
}

func openWith(t testing.TB, address string, vaults *vault.Shared) *tenants.Directory {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{Vaults: vaults})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return tenants.New(func() *store.DB { return db }, zap.NewNop())
}

func put(t testing.TB, d *tenants.Directory, names ...string) {
	t.Helper()
	require.NoError(t, d.Store().Write(t.Context(), func(tx *store.Tx) error {
		for _, name := range names {
			if err := tx.UpsertTenant(&model.Tenant{Name: name}, noon); err != nil {
				return err
			}
			if err := tx.UpsertIntegration(&model.Integration{Tenant: name, Name: "hris", URL: "https://hr.example/in/" + name,
				Secret: "s", Options: model.Options{Documents: model.Rehost}}, noon); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestDirectoryFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		d := open(t, address)
		_, ok := d.Tenant("acme")
		require.False(t, ok, "before the first refresh there is nobody")
		for range d.All() {
			t.Fatal("before the first refresh there is nobody")
		}
		put(t, d, "globex", "acme")
		require.NoError(t, d.Refresh(t.Context()))
		acme, ok := d.Tenant("acme")
		require.True(t, ok)
		i, ok := acme.Integration("hris")
		require.True(t, ok)
		require.Equal(t, "https://hr.example/in/acme", i.URL)
		var names []string
		for one := range d.All() {
			names = append(names, one.Name)
		}
		require.Equal(t, []string{"acme", "globex"}, names)

		same, _ := d.Tenant("acme")
		require.NoError(t, d.Refresh(t.Context()))
		again, _ := d.Tenant("acme")
		require.Same(t, same, again, "what did not change was read anew")
	})
}

// An integration whose row is damaged is reported once, and the others are there.
func TestDamagedIntegrationIsReportedOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "hiregate.db")
	d := open(t, "sqlite://"+file)
	core, logged := observer.New(zap.InfoLevel)
	d.Log = zap.New(core)
	put(t, d, "acme", "globex")
	require.NoError(t, d.Refresh(t.Context()))
	require.Zero(t, logged.Len())
	raw, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, raw.Close()) })
	_, err = raw.ExecContext(t.Context(), `UPDATE integrations SET url = X'01' || CAST('https://hr.example/in/globex' AS BLOB)
		WHERE tenant = 'acme'`)
	require.NoError(t, err)
	for _, name := range []string{"initech", "umbrella"} {
		put(t, d, name)
		require.NoError(t, d.Refresh(t.Context()))
		for tenant, damaged := range map[string]bool{"acme": true, "globex": false} {
			one, ok := d.Tenant(tenant)
			require.True(t, ok)
			require.Equal(t, damaged, one.Integrations[0].Damaged)
			require.Equal(t, damaged, one.Integrations[0].URL == "")
		}
	}
	require.Equal(t, 1, logged.Len())
	require.Equal(t, map[string]any{"tenant": "acme", "integration": "hris"}, logged.All()[0].ContextMap())
}

func TestNodeLearnsWhatAnotherOneChanged(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	one, other := open(t, address), open(t, address)
	require.NoError(t, other.Refresh(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); new(loop.Set).Run(ctx, zap.NewNop(), other.Loop()) }()
	put(t, one, "acme")
	require.Eventually(t, func() bool { _, ok := other.Tenant("acme"); return ok }, 10*time.Second, 10*time.Millisecond)
	stop()
	<-ended
}

// A node that does not have the key yet, with which another one seals, goes on with what it knows, and says so. Once
// it has it, it learns the rest.
func TestNodeWithoutTheKeyGoesOn(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	v, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	var one, other vault.Shared
	ahead, behind := openWith(t, address, &one), openWith(t, address, &other)
	put(t, ahead, "acme")
	require.NoError(t, behind.Refresh(t.Context()))
	one.Add(v)
	resealed, err := ahead.Store().Reencrypt(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, 3, resealed)
	require.NoError(t, behind.Refresh(t.Context()), "it reads anew though nothing changed")
	put(t, ahead, "globex")

	core, logged := observer.New(zap.InfoLevel)
	behind.Log = zap.New(core)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); new(loop.Set).Run(ctx, behind.Log, behind.Loop()) }()
	require.Eventually(t, func() bool { return logged.FilterLevelExact(zap.ErrorLevel).Len() == 1 }, 10*time.Second,
		10*time.Millisecond)
	require.Contains(t, logged.All()[0].ContextMap()["error"], "seal_key")
	require.ErrorIs(t, behind.Refresh(t.Context()), store.ErrSealed)
	acme, ok := behind.Tenant("acme")
	require.True(t, ok)
	require.Equal(t, model.Secret("s"), acme.Integrations[0].Secret)
	other.Add(v)
	require.Eventually(t, func() bool { _, ok := behind.Tenant("globex"); return ok }, 10*time.Second, 10*time.Millisecond)
	stop()
	<-ended
}

// Whoever waits for another one's refresh, which hangs, gives up with their request.
func TestRefreshIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	wire := storetest.NewWire(t, storetest.Postgres(t))
	d := open(t, wire.Address)
	require.NoError(t, d.Refresh(t.Context()))
	wire.Silence(true)
	hanging := make(chan error, 1)
	first, stop := context.WithCancel(t.Context())
	go func() { hanging <- d.Refresh(first) }()
	second, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { waited <- d.Refresh(second) }()
	cancel()
	select {
	case err := <-waited:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(30 * time.Second):
		require.Fail(t, "it waits for the database that another one waits for")
	}
	stop()
	require.Error(t, <-hanging)
	wire.Silence(false)
	require.NoError(t, d.Refresh(t.Context()))
}

// BenchmarkTenant looks a tenant up among ten, and among ten thousand.
func BenchmarkTenant(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := open(b, storetest.SQLite(b))
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprint("t-", i)
			}
			put(b, d, names...)
			require.NoError(b, d.Refresh(b.Context()))
			i := 0
			for b.Loop() {
				if _, ok := d.Tenant(names[i%n]); !ok {
					b.Fatal("a tenant is missing")
				}
				i++
			}
		})
	}
}
