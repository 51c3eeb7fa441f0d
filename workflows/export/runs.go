package export

import (
	"sync"
	"time"
)

// runsDelay is how long a run of the activity waits for another one of the same exports to end.
const runsDelay = 5 * time.Second

// runs has the exports that runs of the activity are delivering in this process. Temporal runs an activity again once its
// heartbeats fail to come, while an attempt, which nothing cuts off, may still be under way: the partner would get the
// export twice. The zero value is ready.
type runs struct {
	mu  sync.Mutex
	all map[roundOf]bool
}

type roundOf struct {
	export int64
	round  int
}

// enter reports whether no other run has an export of this one. Then leave must be called at the end of the run.
func (r *runs) enter(p Part) (leave func(), free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range p.Exports {
		if r.all[roundOf{id, p.Round}] {
			return nil, false
		}
	}
	if r.all == nil {
		r.all = map[roundOf]bool{}
	}
	for _, id := range p.Exports {
		r.all[roundOf{id, p.Round}] = true
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, id := range p.Exports {
			delete(r.all, roundOf{id, p.Round})
		}
	}, true
}
