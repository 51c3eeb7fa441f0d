//go:build !linux

package platform

import "errors"

// FreeSpace returns errors.ErrUnsupported on this system.
func FreeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
