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

// options are paths of programs, and the kind of database.
type options struct {
	hiregate, temporalDev string
	postgres              bool
}

// database is the database of a machine whose filesystem is at root; it may use the folder for what need not last.
func (o options) database(folder, root string) database {
	if o.postgres {
		return &postgres{folder: filepath.Join(root, "postgres"), log: filepath.Join(folder, "postgres.log")}
	}
	return sqlite{folder, root}
}

func main() {
	cuts := flag.Int("cuts", 30, "how often the power is cut")
	seed := flag.Uint64("seed", 1, "of the moments and of what is lost")
	var options options
	flag.StringVar(&options.hiregate, "hiregate", "bin/hiregate", "the gateway")
	flag.StringVar(&options.temporalDev, "temporal-dev", "bin/temporal-dev", "the Temporal server")
	flag.BoolVar(&options.postgres, "postgres", false, "with PostgreSQL's data folder instead of a SQLite file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options, *cuts, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "powercut:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, options options, cuts int, seed uint64) error {
	if err := missing(options.database("", "").programs()...); err != nil {
		return err
	}
	found, err := series(ctx, options, cuts, seed, false)
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
	if found, err = series(ctx, options, 1, seed, true); err != nil {
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
func series(ctx context.Context, options options, cuts int, seed uint64, deceitful bool) (found findings, err error) {
	folder, err := os.MkdirTemp("", "powercut-")
	if err == nil {
		err = os.Chmod(folder, 0o755) // PostgreSQL runs as somebody else
	}
	if err != nil {
		return found, err
	}
	m := &machine{folder: folder, disk: newDisk(nil), root: filepath.Join(folder, "root")}
	db := options.database(folder, m.root)
	g := &gateway{binary: options.hiregate, folder: folder, root: m.root, database: db}
	o, err := startOutside(options.temporalDev, folder)
	if err != nil {
		return found, err
	}
	l := &load{gateway: g, outside: o, erasing: map[string]bool{}}
	o.load = l
	defer func() { // not the folder where something is still mounted in it
		g.kill()
		db.kill()
		o.stop()
		if err = errors.Join(err, m.detach()); !mounted(m.root) && !mounted(filepath.Join(folder, "fuse")) {
			os.RemoveAll(folder)
		}
	}()
	for _, step := range []func() error{
		func() error { return m.start(true) }, db.create, func() error { return g.configure(o) },
		func() error { return db.start(ctx) }, func() error { return g.start(ctx) }, func() error { return g.setUp(o) },
	} {
		if err := step(); err != nil {
			return found, err
		}
	}
	random := rand.New(rand.NewPCG(seed, 0))
	found.kept = map[promise]bool{}
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
		cached, lost, err := m.cut(random, func() {
			g.kill()
			db.kill()
		})
		end()
		if err != nil {
			return found, err
		}
		fmt.Printf("cut %d: %d acknowledged so far; %d blocks were not flushed, %d of them are lost\n", n+1, len(l.list()),
			cached, lost)
		if err := m.start(false); err != nil {
			return found, fmt.Errorf("the filesystem does not come up: %w", err)
		}
		if err := db.start(ctx); err != nil {
			return found, fmt.Errorf("cut %d: %w", n+1, err)
		}
		if err := db.check(); err != nil {
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
