package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// first reports, in the packages below, whether the test runs for the first time: what fails then only passes when it
// is run again.
const first = `
func first(t *testing.T) bool {
	f, err := os.OpenFile(t.Name() + ".ran", os.O_CREATE|os.O_EXCL, 0o600)
	f.Close()
	return err == nil
}
`

// broken are packages by name. The second test of those that don't run to their end is never seen by the first run.
var broken = map[string]string{
	"works":  `func TestFine(t *testing.T) { t.Log("of no interest") }`,
	"always": `func TestAlways(t *testing.T) { t.Error("wrong") }`,
	"flaky": `func TestFine(t *testing.T) { t.Log("of no interest") }
		func TestLate(t *testing.T) { now := first(t); t.Run("a (b)/c", func(t *testing.T) { if now { t.Error("too late") } }) }
		func TestLater(t *testing.T) { if first(t) { t.Error("too late") } }`,
	"panics": `func TestPanic(t *testing.T) { if first(t) { panic("gone") } }
		func TestUnseen(t *testing.T) { t.Error("wrong") }`,
	"exits": `func TestExit(t *testing.T) { if first(t) { os.Exit(1) } }
		func TestUnseen(t *testing.T) { t.Error("wrong") }`,
	"races": `func TestRace(t *testing.T) {
			if !first(t) { return }
			n, done := 0, make(chan bool)
			go func() { n++; close(done) }()
			n++
			<-done
		}`,
	"leaks":   `func TestMain(m *testing.M) { m.Run(); if _, err := os.Stat("TestFine.ran"); err != nil { os.Exit(1) } }; func TestFine(t *testing.T) {}`,
	"useless": `func TestFine(t *testing.T) { undefined() }`,
}

func module(t *testing.T, packages ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	require.NoError(t, os.WriteFile("go.mod", []byte("module m\ngo 1.26\n"), 0o600))
	for _, name := range packages {
		require.NoError(t, os.Mkdir(name, 0o700))
		source := "package " + name + "\nimport (\"os\"; \"testing\")\n" + first + broken[name]
		require.NoError(t, os.WriteFile(filepath.Join(name, "a_test.go"), []byte(source), 0o600))
	}
}

func retest(t *testing.T, flags ...string) (passed bool, printed, report string) {
	t.Helper()
	var out bytes.Buffer
	passed, err := (&run{flags: flags, out: &out}).all("./...", func() bool { return false })
	require.NoError(t, err)
	printed, report, _ = strings.Cut(out.String(), "\nTests that failed:\n")
	return passed, printed, report
}

func TestWhatPassesTheSecondTimePasses(t *testing.T) {
	module(t, "works", "flaky")
	passed, printed, report := retest(t)
	assert.True(t, passed)
	assert.Equal(t, `  m/flaky  TestLate   passed when it was run once more, alone
  m/flaky  TestLater  passed when it was run once more, alone
`, report)
	assert.Contains(t, printed, "too late")
	assert.Contains(t, printed, "ok  \tm/works\t")
	assert.NotContains(t, printed, "of no interest")
	assert.Contains(t, printed, "Once more: TestLate of m/flaky\nok  \tm/flaky\t")

	passed, printed, report = retest(t)
	assert.True(t, passed)
	assert.Empty(t, report)
	assert.Equal(t, 2, strings.Count(printed, "\n"), printed)
}

// A package that died may have tests that did not run: that they pass must not be concluded from a test of it that
// passes.
func TestWhatIsBrokenFails(t *testing.T) {
	module(t, "always", "flaky", "panics", "exits", "leaks", "useless")
	passed, printed, report := retest(t)
	assert.False(t, passed)
	assert.Equal(t, `  m/always   TestAlways  failed twice
  m/exits                failed, not run again: it did not run to its end
  m/flaky    TestLate    passed when it was run once more, alone
  m/flaky    TestLater   passed when it was run once more, alone
  m/leaks                failed, not run again: not because of a test
  m/panics               failed, not run again: it did not run to its end
  m/useless              failed, not run again: not because of a test
`, report)
	assert.Contains(t, printed, "undefined: undefined")
	assert.Contains(t, printed, "panic: gone")

	module(t, "exits")
	passed, _, _ = retest(t)
	assert.False(t, passed)
}

func TestDataRaceIsNotRunAgain(t *testing.T) {
	module(t, "races")
	passed, _, report := retest(t, "-race")
	assert.False(t, passed)
	assert.Equal(t, "  m/races    failed, not run again: it has a data race\n", report)
}

func TestFailFastRunsNothingAgain(t *testing.T) {
	module(t, "flaky")
	passed, printed, _ := retest(t, "-failfast")
	assert.False(t, passed)
	assert.NotContains(t, printed, "Once more")
}
