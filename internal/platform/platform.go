// Package platform has what each operating system does in its own way. Other code of the product compiles on every
// system: only this package and filelock have files of their own for one.
package platform
