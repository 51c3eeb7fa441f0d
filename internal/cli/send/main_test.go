package send

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/cli/listen"
)

const (
	secret     = "s3cret"
	fullExport = "../../../testdata/samples/export-full.json"
)

// send runs `hiregate send` to its end.
func send(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	return sendIn(t, t.Context(), args...)
}

func sendIn(t *testing.T, ctx context.Context, args ...string) (out, log string, err error) {
	t.Helper()
	return clitest.Run(ctx, Command(), args...)
}

// running is a `hiregate listen` on a free port.
type running struct {
	t    *testing.T
	url  string
	out  *clitest.Buffer
	stop func() error // as Ctrl-C does
}

func startListener(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, out: new(clitest.Buffer)}
	cmd := listen.Command()
	cmd.SetOut(r.out)
	cmd.SetErr(new(clitest.Buffer))
	cmd.SetArgs(append([]string{"--addr", "127.0.0.1:0", "--secret", secret, "--json"}, args...))
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = cmd.ExecuteContext(ctx)
	}()
	r.stop = func() error {
		cancel()
		<-ended
		return err
	}
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	require.Eventually(t, func() bool { return strings.Contains(r.out.String(), "\n") }, 5*time.Second, time.Millisecond)
	r.url = "http://" + clitest.JSONLines[struct{ Address string }](t, r.out.String(), "listening")[0].Address
	return r
}

// entries waits until there are n lines of a kind.
func (r *running) entries(kind string, n int) []listen.Entry {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Count(r.out.String(), `"kind":"`+kind+`"`) >= n },
		10*time.Second, time.Millisecond,
		"%d lines of kind %s", n, kind)
	all := clitest.JSONLines[listen.Entry](r.t, r.out.String(), kind)
	require.Len(r.t, all, n)
	return all
}

// sendToPartner is send to a receiver of partner, which gives no receipts.
func sendToPartner(t *testing.T, args ...string) (out, log string, err error) {
	t.Helper()
	return send(t, append(args, "--any-2xx")...)
}
