package listen

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// memory knows which exports arrived before, up to a bound: the oldest is forgotten first.
type memory struct {
	mu   sync.Mutex
	seen *simplelru.LRU[string, *sighting]
}

type sighting struct {
	attempts     int
	acknowledged bool
}

func newMemory(bound int) *memory {
	seen, _ := simplelru.NewLRU[string, *sighting](bound, nil) // the only error is that of a bound that is not positive
	return &memory{seen: seen}
}

// arrive counts an arrival. It returns which one it is, from 1, and whether an earlier one was acknowledged.
func (m *memory) arrive(key string) (attempt int, acknowledged bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sighting(key)
	s.attempts++
	return s.attempts, s.acknowledged
}

// acknowledge notes that an arrival was acknowledged, and reports whether it is the first.
func (m *memory) acknowledge(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sighting(key)
	first := !s.acknowledged
	s.acknowledged = true
	return first
}

func (m *memory) sighting(key string) *sighting {
	s, known := m.seen.Peek(key) // Get would move it to the front
	if !known {
		s = new(sighting)
		m.seen.Add(key, s)
	}
	return s
}
