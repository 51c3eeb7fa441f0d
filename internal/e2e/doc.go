// Package e2e holds the tests that run the built programs against each other, as people run them: real processes, a
// real Temporal server, real ports. `make build` builds what they run.
package e2e
