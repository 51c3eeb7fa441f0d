package dev

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dieWithParent ends a process that knows no lifeline with this one. The kernel means the thread that starts it, so the
// calling goroutine keeps its thread; it must live as long as the process.
func dieWithParent(cmd *exec.Cmd) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
