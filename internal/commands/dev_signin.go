package commands

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// signinKey is what the gateway's signing keys are sealed with, in a file of the data's folder: one that was made at the first
// start, so that the keys of a folder are good as long as the folder is.
func (f *devFlags) signinKey() (string, error) {
	path := filepath.Join(f.dir, "signin.key")
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		return strings.TrimSpace(string(raw)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("reading the key of sign-in in %s: %w", path, cause(err))
	}
	var random [32]byte
	rand.Read(random[:])
	key := base64.StdEncoding.EncodeToString(random[:])
	if err := writeWhole(path, key+"\n"); err != nil {
		return "", fmt.Errorf("keeping the key of sign-in in %s: %w", path, cause(err))
	}
	return key, nil
}

// writeWhole writes a file that is there with all of its text or not at all, for its owner alone.
func writeWhole(path, text string) error {
	half, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)) // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(half.Name()) // which is gone once it has its name
	_, err = half.WriteString(text)
	if err := errors.Join(err, half.Sync(), half.Close()); err != nil {
		return err
	}
	return os.Rename(half.Name(), path)
}
