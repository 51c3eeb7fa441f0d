package partner

import "sync"

// memory knows which exports arrived before, up to a bound: the oldest is forgotten first.
type memory struct {
	mu    sync.Mutex
	seen  map[string]*sighting
	order []string // a ring of the keys in seen
	next  int      // where in the ring the next key goes
}

type sighting struct {
	attempts     int
	acknowledged bool
}

func newMemory(bound int) *memory {
	return &memory{seen: make(map[string]*sighting), order: make([]string, bound)}
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
	s, known := m.seen[key]
	if !known {
		s = new(sighting)
		if len(m.seen) == len(m.order) {
			delete(m.seen, m.order[m.next])
		}
		m.seen[key] = s
		m.order[m.next] = key
		m.next = (m.next + 1) % len(m.order)
	}
	return s
}
