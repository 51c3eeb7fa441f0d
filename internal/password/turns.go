package password

import (
	"context"
	"sync/atomic"
)

// turns lets two passwords be hashed at once in this process, and 32 more wait for it: each takes 19 MiB and a processor.
var turns = newQueue(2, 32)

// queue lets some in at once, and some more wait.
type queue struct {
	slots   chan struct{}
	waiting atomic.Int32
	most    int32
}

func newQueue(atOnce, waiting int) *queue {
	return &queue{slots: make(chan struct{}, atOnce), most: int32(waiting)}
}

// enter waits for a turn, which ends with leave. Errors: ErrBusy when too many wait, and that of ctx.
func (q *queue) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-q.slots }
	select {
	case q.slots <- struct{}{}:
		return leave, nil
	default:
	}
	if q.waiting.Add(1) > q.most {
		q.waiting.Add(-1)
		return nil, ErrBusy
	}
	defer q.waiting.Add(-1)
	select {
	case q.slots <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
