package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const patience = 60 * time.Second

// TestMain lets the test binary be temporal-dev itself, so that processes can be started, killed and looked at
// without building anything.
func TestMain(m *testing.M) {
	if os.Getenv("BE_TEMPORAL_DEV") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a running temporal-dev.
type process struct {
	*exec.Cmd
	port, uiPort int
	stdin        io.WriteCloser
	lines        chan string // of standard output
	stderr       *bytes.Buffer
	ended        chan error
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{
		Cmd:    exec.Command(os.Args[0], args...),
		lines:  make(chan string, 10),
		stderr: new(bytes.Buffer),
		ended:  make(chan error, 1),
	}
	p.Env = append(os.Environ(), "BE_TEMPORAL_DEV=1")
	p.Stderr = p.stderr
	var err error
	p.stdin, err = p.StdinPipe()
	require.NoError(t, err)
	stdout, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	go func() {
		for s := bufio.NewScanner(stdout); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
		p.ended <- p.Wait()
	}()
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// serve starts a server on free ports and waits for its line. Others look for free ports as well: where one of these
// was taken since, it tries again with new ones.
func serve(t *testing.T, db string, args ...string) *process {
	t.Helper()
	for tries := 1; ; tries++ {
		ports, err := freePorts(2)
		require.NoError(t, err)
		p := start(t, append([]string{"--db", db, "--port", strconv.Itoa(ports[0]), "--ui-port", strconv.Itoa(ports[1])},
			args...)...)
		p.port, p.uiPort = ports[0], ports[1]
		line := p.line(t)
		if tries < 3 && (strings.Contains(line, "in use") || strings.Contains(line, "is taken")) {
			_ = p.Process.Kill()
			p.end(t)
			continue
		}
		require.Equal(t, fmt.Sprintf("temporal-dev: ready on 127.0.0.1:%d, UI on http://127.0.0.1:%d", p.port, p.uiPort),
			line)
		return p
	}
}

// line is what the process says first, or why it ended.
func (p *process) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			err := <-p.ended
			p.ended <- err // for whoever asks next
			return fmt.Sprintf("ended with %v: %s", err, p.stderr)
		}
		return line
	case <-time.After(patience):
		require.FailNow(t, "temporal-dev is not ready in time")
		return ""
	}
}

// end waits until the process is gone and returns its exit code, -1 after a signal.
func (p *process) end(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.ProcessState.ExitCode()
	case <-time.After(patience):
		require.FailNow(t, "temporal-dev does not end")
		return 0
	}
}

func (p *process) dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: fmt.Sprintf("127.0.0.1:%d", p.port), Logger: quiet{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

func echo(ctx workflow.Context, s string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	err := workflow.ExecuteActivity(ctx, "repeat", s).Get(ctx, &s)
	return s, err
}

func repeat(_ context.Context, s string) (string, error) { return s + s, nil }

func TestStateSurvivesAKill(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := filepath.Join(t.TempDir(), "with space & 100%.db")
	require.NoError(t, os.WriteFile(db, nil, 0o600), "an empty file is as good as none")

	p := serve(t, db, "--namespace", "default", "--namespace", "second",
		"--search-attribute", "HiregateTenant=Keyword", "--search-attribute", "HiregateEvent=Keyword")
	c := p.dial(t)

	for _, name := range []string{"default", "second"} {
		ns, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
		require.NoError(t, err)
		require.Equal(t, 72*time.Hour, ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	}

	// No worker yet: the workflow has to wait through the kill.
	tenant := temporal.NewSearchAttributeKeyKeyword("HiregateTenant")
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                    "export/acme/1",
		TaskQueue:             "test",
		TypedSearchAttributes: temporal.NewSearchAttributes(tenant.ValueSet("acme")),
	}, "echo", "a")
	require.NoError(t, err)
	require.NoError(t, p.Process.Kill())
	require.Equal(t, -1, p.end(t))

	p = serve(t, db, "--search-attribute", "HiregateTenant=Keyword", "--search-attribute", "HiregateOutcome=Keyword")
	c = p.dial(t)
	attributes, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: "default"})
	require.NoError(t, err)
	require.Equal(t, map[string]enumspb.IndexedValueType{
		"HiregateTenant":  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"HiregateEvent":   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"HiregateOutcome": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	}, attributes.GetCustomAttributes())

	w := worker.New(c, "test", worker.Options{})
	w.RegisterWorkflow(echo)
	w.RegisterActivity(repeat)
	require.NoError(t, w.Start())
	defer w.Stop()
	var got string
	require.NoError(t, c.GetWorkflow(ctx, run.GetID(), run.GetRunID()).Get(ctx, &got))
	require.Equal(t, "aa", got)
	require.Eventually(t, func() bool {
		found, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: "HiregateTenant = 'acme' AND ExecutionStatus = 'Completed'",
		})
		return err == nil && len(found.GetExecutions()) == 1
	}, patience, 50*time.Millisecond)
}

func TestUI(t *testing.T) {
	t.Parallel()
	p := serve(t, filepath.Join(t.TempDir(), "temporal.db"))
	for path, kind := range map[string]string{"/": "text/html", "/api/v1/namespaces/default": "application/json"} {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", p.uiPort, path))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode, path)
		require.Contains(t, resp.Header.Get("Content-Type"), kind, path)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	free, err := freePorts(1)
	require.NoError(t, err)
	serve(t, filepath.Join(t.TempDir(), "temporal.db"), "--metrics-port", strconv.Itoa(free[0]))
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", free[0]))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^service_requests_total\{.*operation=.*service_name="frontend"`, string(text))
	require.Regexp(t, `(?m)^persistence_requests_total\{.*operation=`, string(text))
}

// A web page can have its own name resolve to 127.0.0.1, and ask the UI under that name.
func TestUIAnswersToLoopbackNamesAlone(t *testing.T) {
	t.Parallel()
	p := serve(t, filepath.Join(t.TempDir(), "temporal.db"))
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST.": 200, "temporal.localhost": 200, "127.0.0.1": 200, "127.0.0.2": 200, "[::1]": 200,
		"attacker.example": 421, "localhost.attacker.example": 421, "127.0.0.1.nip.io": 421, "10.0.0.1": 421,
		"notlocalhost": 421,
	} {
		for _, host := range []string{host, fmt.Sprintf("%s:%d", host, p.uiPort)} {
			r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/api/v1/namespaces/default", p.uiPort),
				nil)
			require.NoError(t, err)
			r.Host = host
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, want, resp.StatusCode, host)
		}
	}
}

func TestDatabaseIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	require.NoError(t, os.WriteFile(db, nil, 0o600))
	require.NoError(t, os.Chmod(db, 0o644), "as an earlier version made it")
	serve(t, db)
	for _, file := range []string{db, db + "-wal", db + "-shm", db + ".lock"} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}

func TestSignalsStopIt(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := serve(t, db)
		began := time.Now()
		require.NoError(t, p.Process.Signal(sig))
		require.Equal(t, 0, p.end(t), p.stderr)
		require.Less(t, time.Since(began), 2*stopTimeout)
		require.Empty(t, p.stderr.String())
	}
}

func TestLifeline(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")

	p := serve(t, db, "--lifeline")
	require.NoError(t, p.stdin.Close())
	require.Equal(t, 0, p.end(t))

	p = serve(t, db) // without the flag the end of standard input means nothing
	require.NoError(t, p.stdin.Close())
	_, err := p.dial(t).CheckHealth(t.Context(), nil)
	require.NoError(t, err)
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	free, err := freePorts(1)
	require.NoError(t, err)

	for flag, args := range map[string][]string{
		"--port":         {"--port", taken, "--ui-port", "0"},
		"--ui-port":      {"--port", strconv.Itoa(free[0]), "--ui-port", taken},
		"--metrics-port": {"--port", strconv.Itoa(free[0]), "--ui-port", "0", "--metrics-port", taken},
	} {
		p := start(t, append(args, "--db", filepath.Join(t.TempDir(), "temporal.db"))...)
		require.Equal(t, 1, p.end(t))
		require.Equal(t, "temporal-dev: 127.0.0.1:"+taken+" is taken by another program; "+
			"stop that program or choose another port with "+flag+"\n", p.stderr.String())
	}
}

func TestOneServerAFile(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	serve(t, db)

	free, err := freePorts(1)
	require.NoError(t, err)
	p := start(t, "--db", db, "--port", strconv.Itoa(free[0]), "--ui-port", "0")
	require.Equal(t, 1, p.end(t))
	require.Equal(t, "temporal-dev: "+db+" is in use by another temporal-dev; stop it or choose another file with --db\n",
		p.stderr.String())
}

func TestForeignDatabase(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE exports (id)")
	require.NoError(t, err)
	require.NoError(t, db.Close())

	free, err := freePorts(1)
	require.NoError(t, err)
	p := start(t, "--db", file, "--port", strconv.Itoa(free[0]), "--ui-port", "0")
	require.Equal(t, 1, p.end(t))
	require.Equal(t, "temporal-dev: "+file+" is an SQLite database of another program; choose another file with --db\n",
		p.stderr.String())
}

func TestAttributeOfAnotherType(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "temporal.db")
	p := serve(t, db, "--search-attribute", "HiregateTenant=Text")
	require.NoError(t, p.Process.Kill())
	p.end(t)

	free, err := freePorts(1)
	require.NoError(t, err)
	p = start(t, "--db", db, "--port", strconv.Itoa(free[0]), "--ui-port", "0", "--search-attribute",
		"HiregateTenant=Keyword")
	require.Equal(t, 1, p.end(t))
	require.Contains(t, p.stderr.String(), "HiregateTenant is there as Text, not as Keyword")
}

func TestWrongFlags(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`unexpected argument "now"`:                {"now"},
		"--ip 0.0.0.0: want a loopback address":    {"--ip", "0.0.0.0"},
		"--port 0: want a port from 1 to 65535":    {"--port", "0"},
		"--ui-port 70000: want a port":             {"--ui-port", "70000"},
		"--metrics-port -1: want a port":           {"--metrics-port", "-1"},
		"--log-level loud: want":                   {"--log-level", "loud"},
		"want Name=Type":                           {"--search-attribute", "HiregateTenant"},
		"a namespace needs a name":                 {"--namespace", ""},
		"flag provided but not defined: -database": {"--database", "x"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, checkPorts(options{ip: net.IPv4(127, 0, 0, 1), port: 7233, uiPort: 7233}), "both 7233")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	p := start(t, "--version")
	require.Contains(t, <-p.lines, "temporal-dev dev (Temporal Server 1.")
	require.Equal(t, 0, p.end(t))
}
