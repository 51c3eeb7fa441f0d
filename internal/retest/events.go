package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is a line of go test -json; go doc test2json tells of its fields.
type event struct {
	Action, Package, Test, Output string
}

// pkg is what is known of a package whose tests run, or ran.
type pkg struct {
	name    string
	output  []event
	said    []string        // the lines of its output that are no test's
	running map[string]bool // the tests that have not ended, and their subtests
	failed  []string        // tests, without their subtests
	raced   bool
}

// test runs go test, prints what go test would print, and returns the packages that failed and go test's exit code.
func (r *run) test(packages string) (failed []*pkg, exit int, err error) {
	cmd := exec.Command("go", slices.Concat([]string{"test"}, r.flags, []string{"-json"}, strings.Fields(packages))...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, 0, fmt.Errorf("read what go test prints: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("start go test: %w", err)
	}
	failed, readErr := r.read(out)
	err = cmd.Wait()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		err = nil
	}
	return failed, cmd.ProcessState.ExitCode(), errors.Join(readErr, err)
}

// read follows the events until the last one, and prints each package when it ends.
func (r *run) read(events io.Reader) (failed []*pkg, err error) {
	packages := map[string]*pkg{}
	for lines := json.NewDecoder(events); ; {
		var e event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return failed, nil
		} else if err != nil {
			_, _ = io.Copy(io.Discard, events) // so that go test can end
			return failed, fmt.Errorf("read what go test prints: %w", err)
		}
		if e.Action == "build-output" || r.verbose {
			fmt.Fprint(r.out, e.Output)
		}
		if e.Package == "" {
			continue
		}
		p := packages[e.Package]
		if p == nil {
			p = &pkg{name: e.Package, running: map[string]bool{}}
			packages[e.Package] = p
		}
		p.add(e)
		if ended := e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip"); !ended {
			continue
		}
		if !r.verbose {
			p.print(r.out, e.Action == "fail")
		}
		if e.Action == "fail" {
			failed = append(failed, p)
		}
		p.output = nil
	}
}

// add notes what an event tells.
func (p *pkg) add(e event) {
	switch test, _, sub := strings.Cut(e.Test, "/"); e.Action {
	case "output":
		p.output = append(p.output, e)
		p.raced = p.raced || strings.Contains(e.Output, "WARNING: DATA RACE")
		if e.Test == "" {
			p.said = append(p.said, e.Output)
		}
	case "run":
		p.running[e.Test] = true
	case "pass", "fail", "skip":
		delete(p.running, e.Test)
		if e.Action == "fail" && e.Test != "" && !sub && !slices.Contains(p.failed, test) {
			p.failed = append(p.failed, test)
		}
	}
}

// print prints the line that go test has for the package, and if it failed all that was printed by its tests that did
// not pass.
func (p *pkg) print(w io.Writer, failed bool) {
	if !failed {
		for _, line := range p.said {
			if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") {
				fmt.Fprint(w, line)
			}
		}
		return
	}
	for _, e := range p.output {
		test, _, _ := strings.Cut(e.Test, "/")
		if test == "" || p.running[test] || slices.Contains(p.failed, test) {
			fmt.Fprint(w, e.Output)
		}
	}
}
