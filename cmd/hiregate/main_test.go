package main

import (
	"os"
	"os/exec"
	"testing"
)

// asHiregate names the variable with which the process of a test is hiregate.
const asHiregate = "HIREGATE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asHiregate) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// hiregate is a process of hiregate with these arguments, not started: the binary that make test names, which starts in a
// fraction of the time that one with the race detector takes, or the test's own.
func hiregate(args ...string) *exec.Cmd {
	if built := os.Getenv("HIREGATE_BIN"); built != "" {
		return exec.Command(built, args...)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asHiregate+"=1")
	return cmd
}
