package dispatch

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// A sweep goes on while exports are started. Those that another node is about to start are left to it until the next one.
func TestTurnThatIsNotTakenIsNoProgress(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	node := func() *store.DB {
		db, err := store.Open(t.Context(), address, store.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return db
	}
	here, other := node(), node()
	ago := time.Now().Add(-time.Minute)
	e := inbox.NewExport("acme", "u-1", []byte(`{}`), ago)
	_, err := inbox.Accept(t.Context(), here, e)
	require.NoError(t, err)
	e.Integrations = []string{"hris"}
	require.NoError(t, here.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Group([]*model.Export{e}, ago)
		return err
	}))
	locked, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	lock := sync.OnceFunc(func() { close(locked) })
	go func() {
		ended <- other.Write(t.Context(), func(tx *store.Tx) error {
			_, _, err := tx.LockRemainder(e.ID)
			lock()
			<-release
			return err
		})
	}()
	<-locked
	force := new(config.InForce)
	force.Push(&config.Config{Tenants: map[string]*model.Tenant{"acme": {Name: "acme"}}})
	d := &Dispatcher{Store: here, InForce: force, Now: time.Now, Log: zap.NewNop(), Attributes: new(atomic.Bool)}
	swept := make(chan error, 1)
	go func() { swept <- newSweeper(d).sweep(t.Context()) }()
	select {
	case err := <-swept:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Error("the sweep has no end")
	}
	close(release)
	require.NoError(t, <-ended)
}
