package platform

import (
	"os/exec"
	"runtime"
	"syscall"
)

// DieWithParent has a command killed when this process ends. The kernel watches the thread that starts it, so the calling
// goroutine keeps its thread; it must live as long as the command.
func DieWithParent(cmd *exec.Cmd) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
