package dev

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/filelock"
)

// takePort listens at a free port of host until the test ends.
func takePort(t *testing.T, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// freePort returns a free port below those that systems give to whoever asks for any, so that nobody takes it meanwhile.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		require.NoError(t, err)
		defer l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
}

// It runs alone: a program that another test starts has this test's listeners until it is executed.
func TestTakenPortsAreNamedAllAtOnce(t *testing.T) {
	one, two, free := takePort(t, "127.0.0.1"), takePort(t, "127.0.0.1"), freePort(t)
	require.NoError(t, tryPorts([]port{{flag: "http", number: free, both: true}}))
	require.NoError(t, tryPorts([]port{{flag: "http", number: free}}), "it is let go again")
	require.EqualError(t, tryPorts([]port{{flag: "http", number: free}, {flag: "ui", number: one}}),
		fmt.Sprintf("port %d (--ui) is taken: end the program that listens there, or choose another port with that flag",
			one))
	require.EqualError(t, tryPorts([]port{{flag: "http", number: one}, {flag: "ui", number: free},
		{flag: "admin", number: two}}),
		fmt.Sprintf("ports %d (--http), %d (--admin) are taken: end the programs that listen there, or choose other "+
			"ports with those flags", one, two))
}

func TestPortTakenOnTheOtherLoopbackAddress(t *testing.T) {
	t.Parallel()
	if !hasIPv6() {
		require.NoError(t, tryPorts([]port{{flag: "http", number: freePort(t), both: true}}),
			"without ::1 nothing is asked of it")
		return
	}
	taken := takePort(t, "::1")
	require.ErrorContains(t, tryPorts([]port{{flag: "http", number: taken, both: true}}), "(--http) is taken")
	require.NoError(t, tryPorts([]port{{flag: "ui", number: taken}}))
}

func TestPortThatIsLetGoAMomentLater(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ports := []port{{flag: "http", number: l.Addr().(*net.TCPAddr).Port}}
	time.AfterFunc(50*time.Millisecond, func() { l.Close() })
	require.Error(t, tryPorts(ports))
	require.NoError(t, tryPortsAgain(ports))
}

func TestPortsThatCanNotBeMeant(t *testing.T) {
	t.Parallel()
	for _, number := range []int{-1, 0, 65536} {
		require.EqualError(t, checkPorts([]port{{flag: "ui", number: number}}),
			fmt.Sprintf("--ui %d is not a port: choose one from 1 to 65535", number))
	}
	require.EqualError(t, checkPorts([]port{{flag: "http", number: 8090}, {flag: "ui", number: 8233},
		{flag: "partner", number: 8090}}),
		"--http and --partner are both 8090: give each a port of its own")
}

func TestNoPartnerLeavesItsPortAlone(t *testing.T) {
	t.Parallel()
	f := &flags{http: 1, temporal: 2, ui: 3, partner: 4, admin: 5}
	flags := func() (all []string) {
		for _, p := range f.ports() {
			all = append(all, fmt.Sprint(p.flag, p.number))
		}
		return all
	}
	require.Equal(t, []string{"http1", "temporal2", "ui3", "partner4", "admin5"}, flags())
	f.noPartner = true
	require.Equal(t, []string{"http1", "temporal2", "ui3", "admin5"}, flags())
}

func TestADirectoryHasOneHiregateDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := claimDir(t.Context(), dir)
	require.NoError(t, err)
	_, err = claimDir(t.Context(), dir)
	require.EqualError(t, err, fmt.Sprintf("another hiregate dev (process %d) runs in %s: stop that one, or choose "+
		"another folder with --dir", os.Getpid(), dir))
	other, err := claimDir(t.Context(), t.TempDir())
	require.NoError(t, err)
	other.release()
	first.release()
	again, err := claimDir(t.Context(), dir)
	require.NoError(t, err)
	again.release()
}

func TestOrphansAreWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	orphan, err := openLock(dir, "children.lock")
	require.NoError(t, err)
	require.NoError(t, filelock.Try(orphan))
	claimed := make(chan *claim, 1)
	go func() {
		c, err := claimDir(context.Background(), dir)
		if err == nil {
			claimed <- c
		}
	}()
	require.Never(t, func() bool { return len(claimed) > 0 }, 100*time.Millisecond, 10*time.Millisecond)
	orphan.Close()
	select {
	case c := <-claimed:
		c.release()
	case <-time.After(orphansTimeout):
		require.FailNow(t, "the claim did not come")
	}
}

func TestFolderThatCanNotStandInACaddyfile(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`a"b`, "{a}", "100%", "a?b", "a#b", "a`b"} {
		f := &flags{dir: filepath.Join(t.TempDir(), name)}
		require.ErrorContains(t, f.prepareDir(), "can't stand in a Caddyfile", name)
	}
	f := &flags{dir: filepath.Join(t.TempDir(), "a new", "føldér")}
	require.NoError(t, f.prepareDir())
	require.DirExists(t, f.dir)
}

func TestKeyOfSignInIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := &flags{dir: t.TempDir()}
	first, err := f.signinKey()
	require.NoError(t, err)
	random, err := base64.StdEncoding.DecodeString(first)
	require.NoError(t, err)
	require.Len(t, random, 32)
	written, err := os.Stat(filepath.Join(f.dir, "signin.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), written.Mode().Perm())
	again, err := f.signinKey()
	require.NoError(t, err)
	require.Equal(t, first, again)
	left, err := os.ReadDir(f.dir)
	require.NoError(t, err)
	require.Len(t, left, 1)

	other, err := (&flags{dir: t.TempDir()}).signinKey()
	require.NoError(t, err)
	require.NotEqual(t, first, other)
	f.dir = filepath.Join(f.dir, "missing")
	_, err = f.signinKey()
	require.ErrorContains(t, err, "keeping the key of sign-in in "+f.dir)
}

// shell makes a child that runs a script.
func shell(name, script string, c *console) *child {
	return &child{name: name, cmd: exec.Command("sh", "-c", script), lines: c.lines(name, 36), grace: 10 * time.Second}
}

// newCrew is a crew and what it says.
func newCrew(t *testing.T) (*crew, *console, *clitest.Buffer) {
	t.Helper()
	claim, err := claimDir(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(claim.release)
	out := new(clitest.Buffer)
	c := &crew{
		began: time.Now(), inherit: claim.children, lost: make(chan *child, 3),
		progress: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) },
	}
	t.Cleanup(c.stop)
	return c, newConsole(out), out
}

func TestChildThatEndsIsNamedWithItsLastLines(t *testing.T) {
	t.Parallel()
	crew, console, out := newCrew(t)
	require.NoError(t, crew.start(shell("the sample partner", "echo fine; echo broken >&2; printf end; exit 3", console)))
	require.EqualError(t, crew.wait(t.Context()),
		"the sample partner ended unexpectedly (exit status 3), so everything was stopped. Its last lines:\n  "+
			"fine\n  broken\n  end")
	require.Empty(t, out.String(), "lines of the start are for the error")
}

func TestChildThatEndsWhileAnotherIsAwaited(t *testing.T) {
	t.Parallel()
	crew, console, _ := newCrew(t)
	one := shell("one", "exec sleep 60", console)
	one.answers = func(context.Context) error { return syscall.ECONNREFUSED }
	require.NoError(t, crew.start(one))
	require.NoError(t, crew.start(shell("two", "exit 0", console)))
	require.ErrorContains(t, crew.await(t.Context(), one), "two ended unexpectedly (exit status 0)")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, crew.await(ctx, one), context.Canceled)
}

func TestProgramThatCanNotBeStarted(t *testing.T) {
	t.Parallel()
	crew, console, _ := newCrew(t)
	missing := shell("Temporal", "", console)
	missing.cmd = exec.Command(filepath.Join(t.TempDir(), "temporal-dev"))
	require.ErrorContains(t, crew.start(missing), "Temporal can't be started from /")
	require.Empty(t, crew.children)
}

func TestChildrenStopInReverse(t *testing.T) {
	t.Parallel()
	crew, console, _ := newCrew(t)
	log := filepath.Join(t.TempDir(), "log")
	for _, name := range []string{"first", "second", "third"} {
		ch := shell(name, fmt.Sprintf("trap 'echo %s >> %s; exit' TERM; echo up; while :; do sleep 0.01; done", name, log),
			console)
		up := ch.lines.await("up")
		ch.answers = func(context.Context) error {
			if !isClosed(up) {
				return syscall.ECONNREFUSED
			}
			return nil
		}
		require.NoError(t, crew.start(ch))
		require.NoError(t, crew.await(t.Context(), ch))
	}
	crew.stop()
	stopped, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, "third\nsecond\nfirst\n", string(stopped))
}

func TestChildThatDoesNotStopIsKilledWithItsGroup(t *testing.T) {
	t.Parallel()
	crew, console, out := newCrew(t)
	stubborn := shell("the gateway", "trap '' TERM; sh -c 'echo $$; while :; do sleep 0.05; done'", console)
	stubborn.grace = 50 * time.Millisecond
	require.NoError(t, crew.start(stubborn))
	require.Eventually(t, func() bool { return stubborn.lines.tail() != "  (none)" }, 10*time.Second, time.Millisecond)
	grandchild, err := strconv.Atoi(strings.TrimSpace(stubborn.lines.tail()))
	require.NoError(t, err)
	crew.stop()
	require.Contains(t, out.String(), "the gateway did not stop within 50ms and was killed\n")
	require.Eventually(t, func() bool { return !runs(grandchild) }, 10*time.Second, time.Millisecond)
}

// runs tells whether a process is there, and more than a zombie that nobody has asked for.
func runs(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(string(out), "Z")
}

func TestWhereTemporalIsLookedFor(t *testing.T) {
	executable := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
		return path
	}
	t.Setenv("PATH", t.TempDir())
	t.Setenv(temporalVariable, "")
	_, err := findTemporal()
	require.ErrorContains(t, err, "there is no Temporal server to run: build temporal-dev with make build")

	cli := executable("temporal")
	t.Setenv("PATH", filepath.Dir(cli))
	found, err := findTemporal()
	require.NoError(t, err)
	require.Equal(t, temporalProgram{path: cli, cli: true}, found)
	require.Equal(t, []string{"server", "start-dev", "--db-filename", "/data/temporal-cli.db"},
		found.child("/data", 7233, 8233, nil).cmd.Args[1:5])

	ours := executable("temporal-dev")
	t.Setenv("PATH", filepath.Dir(cli)+":"+filepath.Dir(ours))
	found, err = findTemporal()
	require.NoError(t, err)
	require.Equal(t, temporalProgram{path: ours}, found)

	other := executable("another")
	t.Setenv(temporalVariable, other)
	found, err = findTemporal()
	require.NoError(t, err)
	require.Equal(t, temporalProgram{path: other}, found)

	t.Setenv(temporalVariable, other+"-missing")
	_, err = findTemporal()
	require.EqualError(t, err, "TEMPORAL_DEV_BIN names no program: "+other+"-missing")
}

// The example is broken before a flag where the line would be too long.

func TestDevRefusesArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--dir=":     "--dir is empty: name the folder of the data, or leave --dir out for .hiregate",
		"now":        "dev takes no arguments: `hiregate dev --help` lists the flags",
		"--break 5s": "dev takes no arguments: write --break=5s, without a space",
		"--http=no":  "invalid argument \"no\" for \"--http\" flag; `hiregate dev --help` lists the flags",
	} {
		cmd := Command()
		var out, log clitest.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&log)
		cmd.SetArgs(strings.Fields(args))
		require.ErrorContains(t, cmd.ExecuteContext(t.Context()), want)
		require.NotContains(t, out.String()+log.String(), "Usage:")
	}
}
