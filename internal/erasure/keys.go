package erasure

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hiregate/hiregate/internal/platform"
)

// stored are the keys of a list as their file has them.
type stored struct {
	Hash    []byte `json:"hash"`
	Signing []byte `json:"signing"` // the seed of an Ed25519 key
}

func keysPath(path string) string { return path + ".key" }

// openKeys reads the keys of a list, which is locked, or makes them for one that is empty.
func openKeys(list *os.File) (*keys, error) {
	path := list.Name()
	info, err := list.Stat()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(keysPath(path))
	if errors.Is(err, os.ErrNotExist) {
		if info.Size() > 0 {
			return nil, fmt.Errorf("%s is missing, without which the list of erasures can't be read: put it back",
				keysPath(path))
		}
		if raw, err = makeKeys(path); err != nil {
			return nil, fmt.Errorf("making the keys of the list of erasures: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the keys of the list of erasures: %w", err)
	}
	var s stored
	if err := json.Unmarshal(raw, &s); err != nil || len(s.Hash) == 0 || len(s.Signing) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s does not hold the keys of a list of erasures: put it back as it was", keysPath(path))
	}
	return &keys{hash: s.Hash, signing: ed25519.NewKeyFromSeed(s.Signing)}, nil
}

// makeKeys writes new keys, and the head of an empty list before them.
func makeKeys(path string) (raw []byte, err error) {
	s := stored{Hash: make([]byte, 32), Signing: make([]byte, ed25519.SeedSize)}
	rand.Read(s.Hash)
	rand.Read(s.Signing)
	if raw, err = json.Marshal(s); err != nil {
		return nil, err
	}
	if err := writeHead(path, 0); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(keysPath(path)+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(raw, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Rename(f.Name(), keysPath(path)); err != nil {
		return nil, err
	}
	return raw, platform.SyncFolder(filepath.Dir(path))
}
