// Package walvfs lets SQLite write the frames of a commit with few system calls.
//
// SQLite writes each page that goes to its write-ahead log with two calls, one for 24 bytes and one for the page. This VFS, a
// thin layer over SQLite's own, keeps back what is appended to the log, one piece behind the other, until the frame that ends a
// transaction is there, or the log is synced, read, measured, truncated or closed. All other files are SQLite's own.
//
// Other connections learn of frames after the one that ends their transaction was written, so nobody looks for what is not
// there yet; and what a crash finds not yet written belongs to a transaction that was not committed.
//
// When what was kept back can't be written, the COMMIT that needs it fails with SQLite's own code. Only where a transaction is larger than
// the page cache may the statement that reads from the log be what fails, with an I/O error.
package walvfs

import _ "github.com/mattn/go-sqlite3" // SQLite
