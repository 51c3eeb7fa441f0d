package form

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	formsAtOnce = 64          // that are being read
	graceTime   = time.Second // for which a form is safe from being ended for another
)

// places bounds the forms that are being read. When all places are taken, the form that comes in slowest, at the address
// that has most of them, ends for a new one: who sends slowly keeps nobody out.
type places struct {
	mu    sync.Mutex
	taken []*place
}

// place belongs to one form that is being read.
type place struct {
	of         *places
	address    string
	began      time.Time
	connection *http.ResponseController
	bytes      atomic.Int64 // that came so far
	ended      atomic.Bool  // for another form
	whole      bool         // it came in, and ends for no other
}

// begin takes a place for a form of an address; nil: there is none.
func (p *places) begin(w http.ResponseWriter, address string, now time.Time) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.taken) >= formsAtOnce && !p.makeRoom(address, now) {
		return nil
	}
	one := &place{of: p, address: address, began: now, connection: http.NewResponseController(w)}
	p.taken = append(p.taken, one)
	return one
}

// makeRoom ends a form for another one of an address. It reports false where none may be ended.
func (p *places) makeRoom(address string, now time.Time) bool {
	held := map[string]int{}
	for _, one := range p.taken {
		held[one.address]++
	}
	fullest := address
	for other, n := range held {
		if n > max(held[fullest], held[address]+1) {
			fullest = other
		}
	}
	var slowest *place
	for _, one := range p.taken {
		if one.address == fullest && !one.whole && now.Sub(one.began) >= graceTime &&
			(slowest == nil || one.rate(now) < slowest.rate(now)) {
			slowest = one
		}
	}
	if slowest == nil {
		return false
	}
	p.remove(slowest)
	slowest.ended.Store(true)
	_ = slowest.connection.SetReadDeadline(time.Unix(1, 0)) // a form without a connection sees at its next read that it ended
	return true
}

func (p *places) remove(one *place) {
	if n := slices.Index(p.taken, one); n >= 0 {
		p.taken = slices.Delete(p.taken, n, n+1)
	}
}

// rate is how fast a form comes in, in bytes a second.
func (p *place) rate(now time.Time) float64 {
	return float64(p.bytes.Load()) / now.Sub(p.began).Seconds()
}

// arrived notes that a form came in. It reports false where it was ended for another.
func (p *place) arrived() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.whole = true
	return !p.ended.Load()
}

// leave gives the place back.
func (p *place) leave() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.remove(p)
}
