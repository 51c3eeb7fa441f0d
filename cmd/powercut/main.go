// Command powercut cuts the power of a gateway under load, and counts what it had acknowledged and has no longer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	cuts := flag.Int("cuts", 30, "how often the power is cut")
	seed := flag.Uint64("seed", 1, "of the moments and of what is lost")
	binary := flag.String("hiregate", "bin/hiregate", "the gateway")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *binary, *cuts, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, cuts int, seed uint64) error {
	if err := missing(); err != nil {
		return err
	}
	found, err := series(ctx, binary, cuts, seed, false)
	if err != nil {
		return err
	}
	fmt.Printf("%d cuts: %v\n", cuts, found)
	if found.unopened != nil {
		return found.unopened
	}
	if found.missing() > 0 {
		return errors.New("what was acknowledged does not survive a power cut")
	}
	if found, err = series(ctx, binary, 1, seed, true); err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	fmt.Printf("control, a disk that ignores flushes, 1 cut: %v\n", found)
	switch {
	case found.unopened != nil:
		return fmt.Errorf("the control: %w", found.unopened)
	case found.missing() == 0:
		return errors.New("the control loses nothing, so this run shows nothing")
	}
	return nil
}

// series cuts the power of one machine again and again, and looks after each cut for what was acknowledged before it.
func series(ctx context.Context, binary string, cuts int, seed uint64, deceitful bool) (found findings, err error) {
	folder, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return found, err
	}
	m := &machine{folder: folder, disk: newDisk(nil), root: filepath.Join(folder, "root")}
	g := &gateway{binary: binary, folder: folder, root: m.root}
	defer func() { // not the folder where something is still mounted in it
		g.kill()
		if err = errors.Join(err, m.detach()); !mounted(m.root) && !mounted(filepath.Join(folder, "fuse")) {
			os.RemoveAll(folder)
		}
	}()
	if err := errors.Join(m.start(true), g.configure()); err != nil {
		return found, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	found.kept = map[promise]bool{}
	l, before := &load{gateway: g}, 0
	if err := g.start(ctx); err != nil {
		return found, err
	}
	for n := range cuts {
		if deceitful {
			m.disk.deceive()
		}
		end := l.start(n)
		if err := pause(ctx, time.Duration(300+random.IntN(500))*time.Millisecond); err != nil {
			end()
			return found, err
		}
		cached, lost, err := m.cut(random, g.kill)
		end()
		if err != nil {
			return found, err
		}
		fmt.Printf("cut %d: %d acknowledged so far; %d blocks were not flushed, %d of them are lost\n", n+1, len(l.promises),
			cached, lost)
		if err := m.start(false); err != nil {
			return found, fmt.Errorf("the filesystem does not come up: %w", err)
		}
		if err := g.start(ctx); err != nil {
			if errors.Is(err, errNotOpen) {
				found.unopened, err = fmt.Errorf("cut %d: %w", n+1, err), nil
			}
			return found, err
		}
		check := l.promises[before:] // those since the cut before the last
		if before = len(l.promises); n == cuts-1 {
			check = l.promises
		}
		if err := found.look(ctx, g, check); err != nil {
			return found, err
		}
	}
	return found, nil
}

// pause waits, and fails when the run is interrupted.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
