package admin_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// followed is a `hiregate export list --follow` that runs.
type followed struct {
	t          *testing.T
	out, hints clitest.Buffer
	interrupt  context.CancelFunc
	ended      chan error
}

func (b *fixture) follow(args ...string) *followed {
	ctx, cancel := context.WithCancel(b.t.Context())
	f := &followed{t: b.t, interrupt: cancel, ended: make(chan error, 1)}
	cmd := admin.Export()
	cmd.SetOut(&f.out)
	cmd.SetErr(&f.hints)
	cmd.SetArgs(append([]string{"list", "--follow", "--admin", b.address}, args...))
	cmd.SilenceErrors = true
	go func() { f.ended <- cmd.ExecuteContext(ctx) }()
	return f
}

// says waits until the output has some words.
func (f *followed) says(out *clitest.Buffer, words string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return strings.Contains(out.String(), words) }, time.Minute,
		10*time.Millisecond, "%s\n%s", words, out)
}

func (f *followed) end() error {
	f.t.Helper()
	select {
	case err := <-f.ended:
		return err
	case <-time.After(time.Minute):
		require.FailNow(f.t, "it does not end")
		return nil
	}
}

// at is the time, in minutes after noon, at which an export is received.
func at(minutes int) func(*model.Export) {
	return func(e *model.Export) {
		e.ReceivedAt = gatewaytest.Noon.Add(time.Duration(minutes) * time.Minute)
		e.ID = model.FirstID(e.ReceivedAt)
	}
}

func TestExportListFollow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Delivery(t, b.Export(t, "acme", "before", at(0)), "hris", model.Delivered, 200)
	f := b.follow("--since", gatewaytest.Noon.Format(time.RFC3339))
	f.says(&f.out, "2026-11-20T12:00:00Z  acme/before  hris delivered")
	b.Delivery(t, b.Export(t, "acme", "one", at(2)), "hris", model.Delivered, 200)
	f.says(&f.out, "2026-11-20T12:02:00Z  acme/one  hris delivered")
	b.Status(t, "globex", "hris", store.IntegrationStatus{State: model.Configured, UpdatedAt: gatewaytest.Noon})
	b.Delivery(t, b.Export(t, "globex", "two", at(3)), "hris", model.Retrying, 503)
	f.says(&f.out, "2026-11-20T12:03:00Z  globex/two  hris retrying")
	b.Export(t, "globex", "three", at(4)) // of which nobody knows more for now
	f.says(&f.out, "globex/three  ")
	f.interrupt()
	require.NoError(t, f.end())
	require.Equal(t, 4, strings.Count(f.out.String(), "\n"), "each has one line:\n"+f.out.String())
	require.Empty(t, f.hints.String())

	f = b.follow("--tenant", "idle", "--json") // which has none yet
	require.Eventually(t, func() bool {
		return b.Logged.FilterMessage("exports read").FilterField(zap.String("tenant", "idle")).Len() > 0
	}, time.Minute, 10*time.Millisecond)
	b.Export(t, "idle", "first")
	f.says(&f.out, "\n")
	f.interrupt()
	require.NoError(t, f.end())
	require.Regexp(t, `^\{"id":"first","tenant":"idle",.*\}\n$`, f.out.String())
	require.Empty(t, f.hints.String())
}

// Who follows is told when the gateway goes and comes, and misses nothing.
func TestFollowingOutlivesTheGateway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mux := http.NewServeMux()
	mux.Handle("/hiregate/", http.StripPrefix("/hiregate", manageapi.New(b.current, b.Log)))
	serve := func() *http.Server {
		l, err := net.Listen("tcp", b.address)
		require.NoError(t, err)
		server := &http.Server{Handler: mux}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		return server
	}
	b.address = "127.0.0.1:0"
	l, err := net.Listen("tcp", b.address)
	require.NoError(t, err)
	b.address = l.Addr().String()
	require.NoError(t, l.Close())

	server := serve()
	b.Delivery(t, b.Export(t, "acme", "one", at(1)), "hris", model.Delivered, 200)
	f := b.follow("--since", gatewaytest.Noon.Format(time.RFC3339))
	f.says(&f.out, "acme/one")
	require.NoError(t, server.Close())
	f.says(&f.hints, "Waiting: no gateway runs at "+b.address)
	b.Delivery(t, b.Export(t, "acme", "two", at(2)), "hris", model.Delivered, 200)
	serve()
	f.says(&f.hints, "The gateway answers again.\n")
	f.says(&f.out, "acme/two")
	f.interrupt()
	require.NoError(t, f.end())
	require.Equal(t, 1, strings.Count(f.hints.String(), "Waiting"), "it is said once")
}

// Hundreds of exports at once come in the order of their receipt; of more than it reads at once it shows the newest.
func TestFollowingABurst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow("--since", gatewaytest.Noon.Format(time.RFC3339))
	insert := func(from, n int) {
		b.Write(t, func(tx *store.Tx) error {
			for i := from; i < from+n; i++ {
				received := gatewaytest.Noon.Add(time.Duration(i) * time.Millisecond)
				e := inbox.NewExport("acme", fmt.Sprintf("u-%05d", i), []byte("{}"), received)
				e.Quarantined = true // which is known at once
				if _, err := inbox.Insert(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	insert(0, 600)
	f.says(&f.out, "acme/u-00599 ")
	printed := func() (uuids []string) {
		for line := range strings.Lines(f.out.String()) {
			uuids = append(uuids, strings.Fields(line)[1])
		}
		return uuids
	}
	require.Len(t, printed(), 600)
	require.IsIncreasing(t, printed())
	insert(20_000, 5100)
	f.says(&f.hints, "More exports came than are shown")
	f.says(&f.out, "acme/u-25099 ")
	f.interrupt()
	require.NoError(t, f.end())
	require.Len(t, printed(), 600+5000)
	require.IsIncreasing(t, printed())
}

func TestFollowTakesNoFilterOfWhatBecomesOfAnExport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, flag := range []string{"--outcome=failed", "--limit=3", "--undelivered", "--until=1h"} {
		_, _, err := b.hiregate("export", "list", "--follow", flag)
		name, _, _ := strings.Cut(flag, "=")
		require.EqualError(t, err, "--follow prints exports as they come: leave out "+name)
	}
	_, _, err := b.hiregate("export", "list", "nobody", "--follow")
	require.EqualError(t, err, "there is no tenant of that name: nobody")
}
