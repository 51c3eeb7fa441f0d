package apply_test

import (
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Forty applications that choose all 150,000 options of a job take little of the machine, and keep nobody waiting. It is
// not parallel: what the process takes is measured.
func TestFortyApplicationsToALargeJob(t *testing.T) {
	b := setup(t)
	b.checkWithin(time.Hour) // the machine may be busy
	job, body := large(t)
	b.job("acme", job)
	acme, globex := b.bearer(partner), b.bearer("globex@example.com")
	runtime.GC()
	before := processorTime(t)
	var (
		sent, ended sync.WaitGroup
		done, taken atomic.Int64
		peak        atomic.Uint64
	)
	const applications = 40
	for range applications {
		sent.Add(1)
		ended.Go(func() {
			sent.Done()
			if b.apply(body, acme...).Code == http.StatusNoContent {
				taken.Add(1)
			}
			done.Add(1)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			for was := peak.Load(); m.HeapAlloc > was && !peak.CompareAndSwap(was, m.HeapAlloc); was = peak.Load() {
			}
		})
	}
	sent.Wait()
	b.requireTaken(b.apply(application(t, "OTHER", []answered{}), globex...))
	require.Less(t, done.Load(), int64(applications), "the other tenant's did not wait for all of them")
	ended.Wait()
	took := processorTime(t) - before
	t.Logf("%v of processor time, %d MiB of heap at most", took, peak.Load()>>20)
	require.EqualValues(t, applications, taken.Load())
	require.Less(t, took, 25*time.Second, "it was 31 s without the race detector")
	require.Less(t, peak.Load(), uint64(512<<20))
}

// processorTime is what the process has taken of all processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
