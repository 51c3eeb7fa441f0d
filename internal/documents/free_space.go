package documents

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hiregate/hiregate/internal/platform"
)

// probed is the content that Check writes: enough to need disk space, which an empty file does not.
var probed = make([]byte, 64<<10)

// Check returns nil if a document of the largest size could be stored now. Errors: ErrFull, wrapped, and those of the
// file system.
func (f *Files) Check() error {
	if err := f.probe(probed); err != nil {
		return fmt.Errorf("the document store %s can't be written: %w", f.root, err)
	}
	if free, err := f.Free(); err == nil && free < MaxSize { // if it is not known, the probe decides
		return fmt.Errorf("%w: it has %d bytes left, and a document may have %d: make room, or enlarge it",
			ErrFull, free, int64(MaxSize))
	}
	return nil
}

// Free returns the free space of the document store for us, in bytes, or errors.ErrUnsupported if that is not known.
func (f *Files) Free() (int64, error) {
	free, err := platform.FreeSpace(f.root)
	if err != nil {
		return 0, fmt.Errorf("asking how much room the document store %s has: %w", f.root, err)
	}
	return free, nil
}

// probe writes a file and removes it.
func (f *Files) probe(content []byte) error {
	file, err := os.OpenFile(filepath.Join(f.root, newName()+temporarySuffix), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return full(err)
	}
	_, err = file.Write(content)
	return full(errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name())))
}
