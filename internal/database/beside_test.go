package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/store/storetest"
)

// tripCounter counts how often the statements of a session travel.
type tripCounter struct {
	session
	trips int
}

func (c *tripCounter) run(ctx context.Context, all []*statement) {
	c.trips++
	c.session.run(ctx, all)
}

// pipelining is a writer of its own on PostgreSQL, which takes what the test gives it, and its connection.
func pipelining(t *testing.T) (*writer, *tripCounter) {
	t.Helper()
	w := &writer{dialect: open(t, storetest.Postgres(t)).dialect, log: zap.NewNop()}
	t.Cleanup(w.disconnect)
	require.NoError(t, w.ensureConnected(t.Context()))
	counter := &tripCounter{session: w.tx.session}
	w.tx.session = counter
	return w, counter
}

// batchOf is a batch of closures by their keys, written as "key", "key failing" or "key wait: failing".
func batchOf(do func(tx *Tx, n int) error, keys ...string) (batch []*write) {
	for n, key := range keys {
		key, failing, _ := strings.Cut(key, " ")
		batch = append(batch, &write{key: key, done: make(chan error, 1), fn: func(tx *Tx) error {
			if err := do(tx, n); err != nil || failing == "" {
				return err
			}
			if now, waits := strings.CutPrefix(failing, "wait: "); waits {
				_, err := tx.Exec(now)
				return err
			}
			return tx.Run(failing)
		}})
	}
	return batch
}

// add reads a number, and uses the answer in the next statement.
func add(tx *Tx, n int) error {
	var read string
	if _, err := tx.Scan([]any{&read}, `SELECT ($1::BIGINT * 2)::TEXT`, n); err != nil {
		return err
	}
	if read != fmt.Sprint(2*n) {
		return fmt.Errorf("%d got the answer of another: %s", n, read)
	}
	return tx.Run(`UPDATE exports SET version = version + $1`, n)
}

// A batch costs as many round trips as its longest closure waits for results, and COMMIT, however many closures there are.
func TestStatementsOfABatchTravelTogether(t *testing.T) {
	t.Parallel()
	w, counter := pipelining(t)
	var keys []string
	for n := range 200 {
		keys = append(keys, fmt.Sprintf("k%03d", n))
	}
	batch := batchOf(add, keys...)
	w.commit(slices.Clone(batch))
	for _, one := range batch {
		require.NoError(t, <-one.done)
	}
	require.Equal(t, 2, counter.trips)
}

// Closures of one key run one after the other, and those without one alone.
func TestClosuresOfOneKeyWait(t *testing.T) {
	t.Parallel()
	w, counter := pipelining(t)
	open := map[string]int{}
	keys := []string{"", "", "a", "a", "b"}
	batch := batchOf(func(tx *Tx, n int) error {
		open[keys[n]]++
		defer func() { open[keys[n]]-- }()
		if open[keys[n]] > 1 || open[""] > 0 && len(open) > 1 {
			return errors.New("it does not run alone")
		}
		return add(tx, n)
	}, keys...)
	w.commit(slices.Clone(batch))
	for _, one := range batch {
		require.NoError(t, <-one.done)
	}
	require.Equal(t, 2+2+1, counter.trips)
}

// A statement that fails costs its own closure, and no other.
func TestAFailingStatementCostsItsClosure(t *testing.T) {
	t.Parallel()
	for _, failing := range []string{"SELECT 1/0", "SELECT nothing", "UPDATE exports SET version = NULL",
		"wait: SELECT 1/0", "wait: SELECT nothing", "wait: UPDATE exports SET version = NULL"} {
		w, _ := pipelining(t)
		batch := batchOf(add, " "+failing, "", "a", "b "+failing, "c", "d "+failing, "e")
		w.commit(slices.Clone(batch))
		for n, one := range batch {
			require.Equal(t, n == 0 || n == 3 || n == 5, errors.Is(<-one.done, ErrUnavailable), "%d: %s", n, failing)
		}
		require.False(t, w.tx == nil, "the connection is whole")
	}
}

// Where many fail, each runs alone.
func TestManyFailingClosures(t *testing.T) {
	t.Parallel()
	w, _ := pipelining(t)
	refused := errors.New("refused")
	var keys []string
	for n := range 20 {
		keys = append(keys, fmt.Sprintf("k%02d", n))
	}
	batch := batchOf(func(tx *Tx, n int) error {
		if n%2 == 0 {
			return refused
		}
		if n == 7 {
			panic("a mistake")
		}
		return add(tx, n)
	}, keys...)
	w.commit(slices.Clone(batch))
	for n, one := range batch {
		err := <-one.done
		require.Equal(t, n%2 == 0, errors.Is(err, refused), n)
		require.Equal(t, n%2 == 0 || n == 7, err != nil, n)
	}
}

// A few large bodies are not all kept in memory once more.
func TestLargeStatementsTravelApart(t *testing.T) {
	t.Parallel()
	large := func() *statement { return &statement{args: []any{"x", make([]byte, pipelineBytes*2/3)}} }
	require.Equal(t, 1, travelTogether([]*statement{large(), large(), {}}))
	require.Equal(t, 3, travelTogether([]*statement{large(), {}, {}}))
	huge := &statement{args: []any{make([]byte, 2*pipelineBytes)}}
	require.Equal(t, 1, travelTogether([]*statement{huge, {}}))
}
