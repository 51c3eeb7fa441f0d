// Package filelock locks files for one process at a time. A lock ends with its process, however that ends.
package filelock
