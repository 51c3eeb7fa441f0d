package database

import (
	"fmt"
	"iter"
)

// write runs the closures of a batch, which has those of one key beside each other, and then what they collected. When
// one fails, it returns which; for what they collected, the last of the batch.
func (t *transaction) write(batch []*write) (failed *write, err error) {
	pipelined := t.dialect.shared()
	var lanes []func(*Tx) error
	at := make([]*write, 0, len(batch)) // the one that a lane is at
	for n, one := range batch {
		if !pipelined || one.key == "" {
			if err := new(Tx{transaction: t}).call(one.fn); err != nil {
				return one, err
			}
			continue
		}
		if n > 0 && batch[n-1].key == one.key {
			continue
		}
		lane := len(lanes)
		at = append(at, one)
		lanes = append(lanes, func(tx *Tx) error {
			for _, next := range batch[n:] {
				if next.key != one.key {
					break
				}
				at[lane] = next
				if err := tx.call(next.fn); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if lane, err := t.beside(lanes); err != nil {
		return at[lane], err
	}
	if _, err := t.beside(t.collectedWrites()); err != nil {
		return batch[len(batch)-1], err
	}
	if !t.begun { // no closure had a statement: whether the database is there shows before the COMMIT
		if err := t.run(); err != nil {
			return batch[len(batch)-1], fmt.Errorf("beginning a transaction: %w: %w", ErrUnavailable, err)
		}
	}
	return nil, nil
}

// beside runs closures beside each other: each goes on until it needs the result of a statement, and the statements that
// all of them wait for are run at once, in the order of the closures. No two of them run at the same moment. When one
// fails, the others are broken off and its number is returned.
func (t *transaction) beside(closures []func(*Tx) error) (failed int, err error) {
	if !t.dialect.shared() {
		for n, fn := range closures {
			if err := new(Tx{transaction: t}).call(fn); err != nil {
				return n, err
			}
		}
		return 0, nil
	}
	type lane struct {
		number int
		next   func() (*statement, bool)
		err    error
	}
	lanes := make([]*lane, len(closures))
	for n, fn := range closures {
		l := &lane{number: n}
		next, stop := iter.Pull(func(yield func(*statement) bool) {
			tx := &Tx{transaction: t, handOver: yield}
			l.err = tx.call(fn)
		})
		defer stop()
		l.next, lanes[n] = next, l
	}
	for len(lanes) > 0 {
		waiting, together := lanes[:0], make([]*statement, 0, len(lanes))
		for _, l := range lanes {
			s, more := l.next()
			if l.err != nil {
				return l.number, l.err
			}
			if more {
				waiting, together = append(waiting, l), append(together, s)
			}
		}
		if lanes = waiting; len(together) > 0 {
			_ = t.run(together...) // each closure gets its own error
		}
	}
	return 0, nil
}
