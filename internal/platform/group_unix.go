//go:build unix

package platform

import (
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup has a command start in a process group of its own, so that Ctrl-C reaches only this process.
func OwnGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Setpgid = true
}

// KillGroup kills a process that was started with OwnGroup, and those that it started.
func KillGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
