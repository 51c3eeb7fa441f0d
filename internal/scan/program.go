package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

// programsAtOnce bounds how many programs run side by side: some load a gigabyte of signatures each.
const programsAtOnce = 2

// foundStatus is the exit status of a program that found something, as clamscan and clamdscan have it; 0 means clean,
// and every other one that it could not tell.
const foundStatus = 1

// program is a scanner that is run once for each content, which it reads from its standard input. The first line it
// writes names what it found.
type program struct {
	path   string
	args   []string
	places *semaphore.Weighted
}

func newProgram(path string, args []string) *program {
	return &program{path: path, args: args, places: semaphore.NewWeighted(programsAtOnce)}
}

// Scan implements Scanner.
func (p *program) Scan(ctx context.Context, content io.Reader) (found string, err error) {
	if err := p.places.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer p.places.Release(1)
	var said head
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = content, &said, io.Discard
	cmd.WaitDelay = time.Second
	for _, name := range []string{"PATH", "HOME", "LANG"} { // the rest may hold secrets, which are none of its business
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &exit) && exit.ExitCode() == foundStatus:
		line, _, _ := strings.Cut(said.String(), "\n")
		return finding(line), nil
	case errors.As(err, &exit):
		return "", fmt.Errorf("the scanner ended with %s: run it by hand on a file to see why; it must end with 0 for a "+
			"clean one and with 1 for a harmful one", exit)
	}
	return "", fmt.Errorf("running the scanner: %w", err)
}

// head keeps the beginning of what is written, and takes the rest without a word.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4<<10 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
