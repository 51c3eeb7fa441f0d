package platform

import (
	"os"
	"os/exec"
)

// OwnGroup does nothing on this system.
func OwnGroup(*exec.Cmd) {}

// KillGroup kills the process alone.
func KillGroup(p *os.Process) error { return p.Kill() }
