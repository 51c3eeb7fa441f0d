package e2e

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for what should take a second or two; machines that run tests can be busy.
const patience = 2 * time.Minute

// hiregate is the path of the program, from HIREGATE_BIN, else bin/hiregate.
func hiregate(t *testing.T) string { return program(t, "HIREGATE_BIN", "hiregate") }

// failpoints is the path of the program with failpoints, from HIREGATE_FAILPOINTS_BIN, else bin/hiregate-failpoints.
func failpoints(t *testing.T) string {
	return program(t, "HIREGATE_FAILPOINTS_BIN", "hiregate-failpoints")
}

// former is the path of the program of an earlier commit, from HIREGATE_FORMER_BIN, else bin/hiregate-former.
func former(t *testing.T) string { return program(t, "HIREGATE_FORMER_BIN", "hiregate-former") }

// temporalDev is the path of the Temporal server, from TEMPORAL_DEV_BIN, else bin/temporal-dev.
func temporalDev(t *testing.T) string { return program(t, "TEMPORAL_DEV_BIN", "temporal-dev") }

func program(t *testing.T, variable, name string) string {
	t.Helper()
	path, err := filepath.Abs(cmp.Or(os.Getenv(variable), filepath.Join("..", "..", "bin", name)))
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, "there is no %s: run make bin/%s first, or name it in %s", name, name, variable)
	return path
}

// sample is the absolute path of a file of testdata/samples.
func sample(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "testdata", "samples", name))
	require.NoError(t, err)
	require.FileExists(t, path)
	return path
}

// process is a running program. It ends with the test, also when the test is killed, if it heeds its lifeline:
// hiregate does, temporal-dev with --lifeline.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   output
	ended chan struct{}
}

// output is what a process wrote, on both streams, while it may be writing.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start runs a program in the folder of this package. env is added to the environment, as NAME=value.
func start(t *testing.T, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), "HIREGATE_LIFELINE=stdin"), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // for interrupt
	// A process that is killed may leave others that write to its output; they are not waited for.
	p.cmd.WaitDelay = time.Second
	_, err := p.cmd.StdinPipe() // its write end closes with this process
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is asked of exitCode
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %q wrote:\n%s", filepath.Base(path), args, p.out.String())
		}
	})
	return p
}

// run runs a program to its end. It returns what it wrote and its exit code.
func run(t *testing.T, env []string, path string, args ...string) (out string, code int) {
	t.Helper()
	p := start(t, env, path, args...)
	code = p.exitCode()
	return p.out.String(), code
}

// line waits for a line that matches the pattern and returns it, the first if there are several. A process that ended
// writes none any more.
func (p *process) line(pattern string) string {
	p.t.Helper()
	var found []byte
	re := regexp.MustCompile(`(?m)^.*(?:` + pattern + `).*\n`)
	require.Eventually(p.t, func() bool {
		ended := p.hasEnded() // first, or lines that came meanwhile would be missed
		found = re.Find([]byte(p.out.String()))
		return found != nil || ended
	}, patience, 10*time.Millisecond, "no line matches %q", pattern)
	require.NotNil(p.t, found, "the process ended without a line that matches %q", pattern)
	return string(bytes.TrimRight(found, "\n"))
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// interrupt is Ctrl-C, which a terminal sends to a whole process group.
func (p *process) interrupt() {
	p.t.Helper()
	require.NoError(p.t, syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT))
}

// kill ends the process as kill -9 does, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.ended
}

// exitCode waits for the end of the process; -1 says that a signal ended it.
func (p *process) exitCode() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		require.FailNow(p.t, "the process does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// body gets what an address answers, which must be 200.
func body(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	return string(text)
}
