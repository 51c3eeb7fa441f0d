//go:build !linux

package documents

import "errors"

// Free is not known on this system.
func (f *Files) Free() (int64, error) { return 0, errors.ErrUnsupported }
