package vault

import (
	"slices"
	"sync"
)

// Shared holds the vaults of the configurations that use one database: during a reload there are two. A configuration
// without a key adds the zero Vault. The zero Shared is empty.
type Shared struct {
	mu      sync.Mutex
	all     []*Vault // the newest one last
	changes int
}

// Add adds the vault of a new configuration.
func (s *Shared) Add(v *Vault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, v)
	s.changes++
}

// Remove removes the vault of a configuration that has ended, if it is there.
func (s *Shared) Remove(v *Vault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(one *Vault) bool { return one == v })
	s.changes++
}

// Has reports whether a vault is there.
func (s *Shared) Has(v *Vault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.all, v)
}

// Sole returns the only vault, and a number that changes with every Add and Remove. It returns nil while there are
// several: one may fail yet, and what it sealed with its own key could not be opened any more.
func (s *Shared) Sole() (v *Vault, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 1 {
		v = s.all[0]
	}
	return v, s.changes
}

// Seal seals with a text that all vaults have, so that each can open it. It returns nil if there is none.
func (s *Shared) Seal(purpose, owner string, plain []byte) ([]byte, error) {
	v := s.common()
	if !v.HasKey() {
		return nil, nil
	}
	return v.Seal(purpose, owner, plain)
}

// HasKey reports whether there is a text that all vaults have.
func (s *Shared) HasKey() bool { return s.common().HasKey() }

func (s *Shared) common() *Vault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return new(Vault)
	}
	texts := slices.Clone(s.all[len(s.all)-1].texts)
	for _, v := range s.all {
		texts = slices.DeleteFunc(texts, func(text string) bool { return !slices.Contains(v.texts, text) })
	}
	return &Vault{texts: texts}
}

// Open opens what any vault can open.
func (s *Shared) Open(purpose, owner string, sealed []byte) ([]byte, error) {
	s.mu.Lock()
	all := slices.Clone(s.all)
	s.mu.Unlock()
	for _, v := range slices.Backward(all) {
		if plain, err := v.Open(purpose, owner, sealed); err == nil {
			return plain, nil
		}
	}
	return nil, ErrSealed
}
