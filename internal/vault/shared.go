package vault

import (
	"slices"
	"sync"
)

// Shared are the vaults of the configurations that use one database: during a reload there are two. One without a key is there, too, as
// the zero Vault. The zero Shared has none.
type Shared struct {
	mu      sync.Mutex
	all     []*Vault // the newest one last
	changes int
}

// Add adds the vault of a configuration that begins.
func (s *Shared) Add(v *Vault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, v)
	s.changes++
}

// Remove removes that of a configuration that has ended. One that is not there changes nothing.
func (s *Shared) Remove(v *Vault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.DeleteFunc(s.all, func(one *Vault) bool { return one == v })
	s.changes++
}

// Has tells whether a vault is there.
func (s *Shared) Has(v *Vault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.all, v)
}

// Settled gives the vault that is alone, and a number that is another one whenever some came or went. It is nil while there are several,
// of which one may fail yet, and what it sealed with a key of its own could not be opened any more.
func (s *Shared) Settled() (v *Vault, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 1 {
		v = s.all[0]
	}
	return v, s.changes
}

// Seal seals with a text that all of them have, so that each can open it, whichever is left in the end. It gives nil where there is none.
func (s *Shared) Seal(purpose, owner string, plain []byte) ([]byte, error) {
	v := s.common()
	if !v.HasKey() {
		return nil, nil
	}
	return v.Seal(purpose, owner, plain)
}

// HasKey tells whether there is a text that all of them have.
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

// Open opens what any of them can open.
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
