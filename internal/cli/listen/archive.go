package listen

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// archive is the folder of --save: it has a folder for each export, named by its UUID, with body.json, the exact bytes,
// and the documents as document-1.pdf and so on. Only the user can read them. Empty: nothing is saved.
type archive string

// plainUUID is a UUID that can name a folder on any system. Others are replaced by their SHA-256.
var plainUUID = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$`)

// folder is the folder of an export, empty if nothing is saved. Without a UUID the body's hash names it.
func (a archive) folder(e *Entry) string {
	if a == "" {
		return ""
	}
	name := cmp.Or(e.UUID, e.SHA256)
	if !plainUUID.MatchString(name) {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:])
	}
	return filepath.Join(string(a), name)
}

func (a archive) body(e *Entry, body []byte) error {
	folder := a.folder(e)
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("making a folder: %w", terminal.Cause(err))
	}
	if err := os.WriteFile(filepath.Join(folder, "body.json"), body, 0o600); err != nil {
		return fmt.Errorf("writing the body: %w", terminal.Cause(err))
	}
	return nil
}

// save calls write with a file in the folder, and renames it to name and the extension when that succeeded. A document
// that broke off leaves no file. Without a folder the content is discarded.
func save(folder, name string, write func(io.Writer) (extension string, err error)) error {
	if folder == "" {
		_, err := write(io.Discard)
		return err
	}
	f, err := os.CreateTemp(folder, ".arriving-*")
	if err != nil {
		return fmt.Errorf("saving: %w", terminal.Cause(err))
	}
	defer os.Remove(f.Name())
	extension, err := write(f)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("saving: %w", terminal.Cause(closed))
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(folder, name+extension)); err != nil {
		return fmt.Errorf("saving: %w", terminal.Cause(err))
	}
	return nil
}
