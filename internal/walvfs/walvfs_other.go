//go:build !linux || !cgo

package walvfs

// Name is empty: elsewhere SQLite's own file system is used.
const Name = ""
