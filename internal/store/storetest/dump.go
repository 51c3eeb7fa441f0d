package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
)

// Dump returns the SQL statements that make the tables of a PostgreSQL database with their rows, for Restore.
func Dump(address string) ([]byte, error) {
	return postgresql("pg_dump", nil, "--no-owner", "--no-privileges", "--dbname="+address)
}

// Restore runs a dump in an empty PostgreSQL database.
func Restore(address string, dump []byte) error {
	_, err := postgresql("psql", dump, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+address)
	return err
}

// postgresql runs one of PostgreSQL's programs with this input, and returns what it writes.
func postgresql(name string, in []byte, args ...string) ([]byte, error) {
	path, err := program(name)
	if err != nil {
		return nil, err
	}
	c := exec.Command(path, args...)
	c.Stdin = bytes.NewReader(in)
	out, err := c.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s", name, err, exit.Stderr)
	}
	return out, err
}
