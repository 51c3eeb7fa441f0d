package delivery

import (
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// promptFor is how long the attempts at an integration may take that is prompt.
const promptFor = time.Second

// pace has how long the attempts at an integration take. The zero value is ready.
type pace struct {
	mu    sync.Mutex
	last  int64
	began map[int64]time.Time // of the attempts under way
	slow  bool                // the last attempt that ended took longer than promptFor
}

// begin notes an attempt. Call ended at its end.
func (p *pace) begin(now time.Time) (ended func(now time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began == nil {
		p.began = map[int64]time.Time{}
	}
	p.last++
	n := p.last
	p.began[n] = now
	return func(at time.Time) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.began, n)
		p.slow = at.Sub(now) >= promptFor
	}
}

// prompt reports whether the last attempt was over within promptFor, and none under way has taken longer.
func (p *pace) prompt(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, began := range p.began {
		if now.Sub(began) >= promptFor {
			return false
		}
	}
	return !p.slow
}

// Prompt reports whether an integration lets deliveries through at the moment, and answers soon, by what this node has seen.
func (a *Attempter) Prompt(i *model.Integration) bool {
	gate, closed := a.gates.standing(i)
	return !closed && gate.pace.prompt(time.Now())
}

// standing returns the gate of an integration, and whether deliveries have to wait there for longer than for those before
// them.
func (g *gates) standing(i *model.Integration) (gate *gate, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate = g.of(i)
	return gate, len(gate.backlog.waiting) > 0 || gate.down() || i.Rate != nil && gate.limit.Tokens() < 1
}
