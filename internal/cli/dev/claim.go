package dev

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/filelock"
)

// orphansTimeout limits the wait for the children of a killed `hiregate dev` to end; they need milliseconds.
const orphansTimeout = 10 * time.Second

// claim is an exclusive lock on a data directory. It consists of two locks that the kernel releases with their last
// holder: only this process holds one, and its children inherit the other.
type claim struct {
	own, children *os.File
}

// claimDir locks the directory. If a `hiregate dev` was killed there a moment ago, it waits until its children have
// ended.
func claimDir(ctx context.Context, dir string) (*claim, error) {
	own, err := openLock(dir, "dev.lock")
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(own); err != nil {
		defer own.Close()
		return nil, fmt.Errorf("another hiregate dev%s runs in %s: stop that one, or choose another folder with --dir",
			holder(own), dir)
	}
	if err := own.Truncate(0); err == nil {
		_, _ = own.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0) // only for the message above
	}
	children, err := openLock(dir, "children.lock")
	if err != nil {
		own.Close()
		return nil, err
	}
	c := &claim{own: own, children: children}
	ctx, cancel := context.WithTimeout(ctx, orphansTimeout)
	defer cancel()
	for filelock.Try(children) != nil {
		select {
		case <-ctx.Done():
			c.release()
			return nil, fmt.Errorf(
				"processes of a hiregate dev that was killed still run in %s: end them, or choose another folder with --dir", dir)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return c, nil
}

func (c *claim) release() {
	c.children.Close()
	c.own.Close()
}

func openLock(dir, name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the folder %s can't be written to: change its owner, or choose another with --dir: %w", dir,
			terminal.Cause(err))
	}
	return f, nil
}

// holder names the process that wrote a lock, if it is known.
func holder(lock *os.File) string {
	text, err := io.ReadAll(io.LimitReader(lock, 20))
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}
