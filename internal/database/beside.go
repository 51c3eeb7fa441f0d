package database

import (
	"fmt"
	"iter"
	"slices"
)

// step is a closure of a write, or what the closures of a batch collected, for the last of it.
type step struct {
	of *write
	fn func(*Tx) error
}

// write runs the closures of a batch, those without a key first, and then what they collected. When one fails, it returns
// which; for what they collected, the last of the batch.
func (t *transaction) write(batch []*write) (failed *write, err error) {
	alone := len(batch)
	if t.dialect.shared() {
		if keyed := slices.IndexFunc(batch, func(one *write) bool { return one.key != "" }); keyed >= 0 {
			alone = keyed
		}
	}
	for _, one := range batch[:alone] {
		if err := (&Tx{transaction: t, of: one}).call(one.fn); err != nil {
			return t.blame(one, err)
		}
	}
	if failed, err := t.beside(lanesOf(batch[alone:])); err != nil {
		return t.blame(failed, err)
	}
	last := batch[len(batch)-1]
	var collected [][]step
	for _, fn := range t.collectedWrites() {
		collected = append(collected, []step{{last, fn}})
	}
	if failed, err := t.beside(collected); err != nil {
		return t.blame(failed, err)
	}
	if !t.begun { // no closure waited for a result: whether the database is there shows before the COMMIT
		if err := t.run(); err != nil {
			return t.blame(last, fmt.Errorf("beginning a transaction: %w: %w", ErrUnavailable, err))
		}
	}
	return nil, nil
}

// lanesOf returns the closures of each key, which are neighbours in a batch.
func lanesOf(batch []*write) (lanes [][]step) {
	for n, one := range batch {
		if n == 0 || batch[n-1].key != one.key {
			lanes = append(lanes, nil)
		}
		last := len(lanes) - 1
		lanes[last] = append(lanes[last], step{one, one.fn})
	}
	return lanes
}

// beside runs lanes beside each other, and the steps of a lane one after the other: each lane goes on until it needs the
// result of a statement, and the statements that all of them wait for are run at once, in the order of the lanes. No two
// of them run at the same moment. When one fails, the others are broken off, and the write that it was for is returned.
func (t *transaction) beside(lanes [][]step) (failed *write, err error) {
	type lane struct {
		next func() (*statement, bool)
		at   *write
		err  error
	}
	running := make([]*lane, len(lanes))
	for n, steps := range lanes {
		l := new(lane)
		next, stop := iter.Pull(func(yield func(*statement) bool) {
			for _, s := range steps {
				l.at = s.of
				if l.err = (&Tx{transaction: t, of: s.of, handOver: yield}).call(s.fn); l.err != nil {
					return
				}
			}
		})
		defer stop()
		l.next, running[n] = next, l
	}
	for len(running) > 0 {
		waiting, together := running[:0], make([]*statement, 0, len(running))
		for _, l := range running {
			s, more := l.next()
			if l.err != nil {
				return l.at, l.err
			}
			if more {
				waiting, together = append(waiting, l), append(together, s)
			}
		}
		if running = waiting; len(together) > 0 {
			_ = t.run(together...) // each closure gets its own error
		}
	}
	return nil, nil
}
