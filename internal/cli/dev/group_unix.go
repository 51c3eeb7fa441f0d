//go:build unix

package dev

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a process in a group of its own, so that Ctrl-C reaches this one alone.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
}

// killGroup ends a process and those that it started.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
