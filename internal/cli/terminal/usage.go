package terminal

import (
	"errors"
	"syscall"
)

// The exit codes of our commands beside 0.
const (
	ExitFailed = 1 // what was asked for was not done, or not received
	ExitUsage  = 2 // the command line is wrong: nothing was asked
	ExitUnable = 3 // what was to be checked could not be reached: nothing is known about it
	// ExitDamaged is of `hiregate run`: a person has to decide first, so a supervisor must not start it again.
	ExitDamaged = 4
)

// usageError is an error of what was typed: the command was not begun.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error of what was typed, so that the program exits with ExitUsage. An error of the operating system,
// such as a file that is not there, is none.
func Usage(err error) error {
	if err == nil || errors.As(err, new(syscall.Errno)) {
		return err
	}
	return usageError{err}
}

// unableError is an error of a check that could not run.
type unableError struct{ error }

func (e unableError) Unwrap() error { return e.error }

// Unable marks the error of a check that could not run, so that the program exits with ExitUnable.
func Unable(err error) error { return unableError{err} }

// ExitCode is the exit code for what a command returned.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.As(err, new(usageError)):
		return ExitUsage
	case errors.As(err, new(unableError)):
		return ExitUnable
	}
	return ExitFailed
}
