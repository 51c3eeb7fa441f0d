package password

import (
	"context"
	"slices"
	"sync"

	"github.com/hiregate/hiregate/internal/fairpool"
	"github.com/hiregate/hiregate/internal/metrics"
)

// turns lets two passwords be hashed at once in this process, while up to 32 more wait in each line: each takes 19 MiB
// and a processor.
var turns = newQueue(2, 32)

// queue admits a few callers at once while more wait. Callers from addresses where someone succeeded before have a line
// of their own. The two lines alternate, and the addresses of a line share its places: nobody crowds out the others.
type queue struct {
	mu    sync.Mutex
	free  int
	lines [2]line // of strangers, of known addresses
	next  int     // the line whose turn it is
}

// line holds the waiting callers, in order of arrival.
type line struct {
	places  *fairpool.Pool
	waiting []chan struct{} // closed when the turn has come
}

func newQueue(atOnce int, waiting int64) *queue {
	q := &queue{free: atOnce}
	for n := range q.lines {
		q.lines[n].places = fairpool.NewPool(waiting)
	}
	return q
}

// enter waits for a turn; call leave at its end. Errors: ErrBusy if too many wait in the line, or from the network, and
// the error of ctx.
func (q *queue) enter(ctx context.Context, network string, known bool) (leave func(), err error) {
	l := &q.lines[0]
	if known {
		l = &q.lines[1]
	}
	q.mu.Lock()
	if q.free > 0 { // then nobody waits
		q.free--
		q.mu.Unlock()
		return q.leave, nil
	}
	if !l.places.TryAcquire(network, 1) {
		q.mu.Unlock()
		metrics.PasswordRefused()
		return nil, ErrBusy
	}
	defer l.places.Release(network, 1)
	metrics.PasswordsWaiting(1)
	defer metrics.PasswordsWaiting(-1)
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return q.leave, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	n := slices.Index(l.waiting, turn)
	if n >= 0 {
		l.waiting = slices.Delete(l.waiting, n, n+1)
	}
	q.mu.Unlock()
	if n < 0 { // the turn came meanwhile
		q.leave()
	}
	return nil, ctx.Err()
}

// leave passes the turn on to the next caller.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range q.lines {
		l := &q.lines[q.next]
		q.next = (q.next + 1) % len(q.lines)
		if len(l.waiting) > 0 {
			close(l.waiting[0])
			l.waiting = slices.Delete(l.waiting, 0, 1)
			return
		}
	}
	q.free++
}
