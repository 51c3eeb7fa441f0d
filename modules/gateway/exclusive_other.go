//go:build !linux

package gateway

import "io"

// exclusive holds nothing: there is no name here that goes with its process, and with nothing else.
func exclusive(string) (io.Closer, error) { return io.NopCloser(nil), nil }
