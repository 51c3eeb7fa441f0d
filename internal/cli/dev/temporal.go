package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/platform"
)

// temporalVariable names the Temporal server to run, before any other place is looked at.
const temporalVariable = "TEMPORAL_DEV_BIN"

// temporalReady is the prefix of the line that temporal-dev prints when it is ready.
const temporalReady = "temporal-dev: ready on "

// temporalProgram is the Temporal server that `hiregate dev` runs.
type temporalProgram struct {
	path string
	cli  bool // the `temporal` command of the Temporal project, else our temporal-dev
}

// findTemporal looks for a Temporal server: in TEMPORAL_DEV_BIN, temporal-dev beside this program and on the PATH, then
// Temporal's own command on the PATH.
func findTemporal() (temporalProgram, error) {
	if named := os.Getenv(temporalVariable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return temporalProgram{}, fmt.Errorf("%s names no program: %s", temporalVariable, named)
		}
		return temporalProgram{path: path}, nil
	}
	if self, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(self); err == nil {
			self = resolved
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "temporal-dev")); err == nil {
			return temporalProgram{path: path}, nil
		}
	}
	if path, err := exec.LookPath("temporal-dev"); err == nil {
		return temporalProgram{path: path}, nil
	}
	if path, err := exec.LookPath("temporal"); err == nil {
		return temporalProgram{path: path, cli: true}, nil
	}
	return temporalProgram{}, errors.New(
		"there is no Temporal server to run: build temporal-dev with make build, install Temporal's command line " +
			"(`temporal`), or name a temporal-dev in " + temporalVariable)
}

// child makes the process that runs the server on files in dir.
func (p temporalProgram) child(dir string, port, uiPort int, lines *lines) *child {
	args := []string{"--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--ui-port", strconv.Itoa(uiPort), "--namespace",
		"default"}
	// The gateway registers them, too; here they exist before the first workflow.
	for _, attribute := range []string{"HiregateTenant", "HiregateEvent", "HiregateOutcome", "HiregateIntegration"} {
		args = append(args, "--search-attribute", attribute+"=Keyword")
	}
	if p.cli {
		// Each has its own file: either may have a newer schema.
		args = append([]string{"server", "start-dev", "--db-filename", filepath.Join(dir, "temporal-cli.db"), "--log-level",
			"error"}, args...)
	} else {
		args = append(args, "--db", filepath.Join(dir, "temporal.db"), "--lifeline")
	}
	c := &child{name: "Temporal", cmd: exec.Command(p.path, args...), lines: lines, grace: 10 * time.Second}
	if p.cli {
		platform.DieWithParent(c.cmd)
		c.answers = answering(uiPort)
		return c
	}
	// The UI answers before namespaces and search attributes exist.
	said := lines.await(temporalReady)
	c.answers = func(ctx context.Context) error {
		select {
		case <-said:
			return answering(uiPort)(ctx)
		default:
			return errors.New("it has not said that it is ready")
		}
	}
	return c
}
