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

// programs are the paths of what is run.
type programs struct{ hiregate, temporalDev string }

func main() {
	cuts := flag.Int("cuts", 30, "how often the power is cut")
	seed := flag.Uint64("seed", 1, "of the moments and of what is lost")
	var programs programs
	flag.StringVar(&programs.hiregate, "hiregate", "bin/hiregate", "the gateway")
	flag.StringVar(&programs.temporalDev, "temporal-dev", "bin/temporal-dev", "the Temporal server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, programs, *cuts, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, programs programs, cuts int, seed uint64) error {
	if err := missing("sqlite3"); err != nil {
		return err
	}
	found, err := series(ctx, programs, cuts, seed, false)
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
	if found, err = series(ctx, programs, 1, seed, true); err != nil {
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
func series(ctx context.Context, programs programs, cuts int, seed uint64, deceitful bool) (found findings, err error) {
	folder, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return found, err
	}
	m := &machine{folder: folder, disk: newDisk(nil), root: filepath.Join(folder, "root")}
	g := &gateway{binary: programs.hiregate, folder: folder, root: m.root}
	o, err := startOutside(programs.temporalDev, folder)
	if err != nil {
		return found, err
	}
	l := &load{gateway: g, outside: o, erasing: map[string]bool{}}
	o.load = l
	defer func() { // not the folder where something is still mounted in it
		g.kill()
		o.stop()
		if err = errors.Join(err, m.detach()); !mounted(m.root) && !mounted(filepath.Join(folder, "fuse")) {
			os.RemoveAll(folder)
		}
	}()
	if err := errors.Join(m.start(true), g.configure(o)); err != nil {
		return found, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	found.kept = map[promise]bool{}
	if err := g.start(ctx); err != nil {
		return found, err
	}
	if err := g.setUp(o); err != nil {
		return found, err
	}
	before := 0
	for n := range cuts {
		if deceitful {
			m.disk.deceive()
		}
		end := l.start(seed, n)
		if err := pause(ctx, time.Duration(1000+random.IntN(1000))*time.Millisecond); err != nil {
			end()
			return found, err
		}
		cached, lost, err := m.cut(random, g.kill)
		end()
		if err != nil {
			return found, err
		}
		fmt.Printf("cut %d: %d acknowledged so far; %d blocks were not flushed, %d of them are lost\n", n+1, len(l.list()),
			cached, lost)
		if err := m.start(false); err != nil {
			return found, fmt.Errorf("the filesystem does not come up: %w", err)
		}
		if err := g.checkDatabase(); err != nil {
			return found, fmt.Errorf("cut %d: %w", n+1, err)
		}
		if err := g.start(ctx); err != nil {
			if errors.Is(err, errNotOpen) {
				found.unopened, err = fmt.Errorf("cut %d: %w", n+1, err), nil
			}
			return found, err
		}
		promises := l.list()
		if err := found.look(ctx, l, promises[before:]); err != nil { // those since the cut before the last
			return found, err
		}
		before = len(promises)
	}
	if deceitful {
		return found, nil // Temporal and the gateway do not know the same exports any more
	}
	l.patience = 3 * time.Minute
	if err := found.lookForDeliveries(ctx, l); err != nil {
		return found, err
	}
	return found, found.look(ctx, l, l.list())
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
