package inbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// BenchmarkAccept is the door alone, with 32 senders at once. Beside the time it tells the processor time of an
// export, which a busy machine changes less, and how many syncs of the disk each took.
func BenchmarkAccept(b *testing.B) { benchmarkAccept(b, new(vault.Vault)) }

// BenchmarkAcceptSealed is the same with a seal_key.
func BenchmarkAcceptSealed(b *testing.B) {
	v, err := vault.New("a text of more than thirty-two characters")
	require.NoError(b, err)
	benchmarkAccept(b, v)
}

func benchmarkAccept(b *testing.B, v *vault.Vault) {
	body, err := os.ReadFile("../../testdata/samples/export-full.json")
	require.NoError(b, err)
	shared := new(vault.Shared)
	shared.Add(v)
	db, err := store.Open(b.Context(), "sqlite://"+filepath.Join(b.TempDir(), "hiregate.db"),
		store.Options{Vaults: shared})
	require.NoError(b, err)
	defer db.Close()
	_, err = db.RenewDataKey(b.Context(), time.Now())
	require.NoError(b, err)
	db.Work()
	var n atomic.Int64
	spent := processorTime()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := n.Add(1)
			own := append(fmt.Appendf(nil, "%d ", id), body...)
			_, err := inbox.Accept(b.Context(), db, inbox.NewExport("acme", fmt.Sprint("uuid-", id), own, time.Now()))
			require.NoError(b, err)
		}
	})
	b.ReportMetric(float64(db.Work().Commits)/float64(b.N), "syncs/op")
	b.ReportMetric(float64((processorTime()-spent).Microseconds())/float64(b.N), "cpu-µs/op")
}

func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
