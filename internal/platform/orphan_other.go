//go:build !linux

package platform

import "os/exec"

// DieWithParent does nothing: the command outlives this process if it is killed.
func DieWithParent(*exec.Cmd) {}
