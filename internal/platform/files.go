package platform

import (
	"errors"
	"fmt"
	"syscall"
)

// FilesExhausted returns what to do about an error that says that no further file or socket can be opened; empty for
// every other error.
func FilesExhausted(err error) string {
	const remedy = "raise it to 1048576, as `LimitNOFILE=1048576` in the unit of systemd does (systemctl edit hiregate), " +
		"`ulimits: {nofile: 1048576}` in docker-compose, or `ulimit -n 1048576` before the start in a shell"
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Sprintf("this process has as many files and sockets open as its limit of open files%s allows: %s", openFilesLimit(), remedy)
	case errors.Is(err, syscall.ENFILE):
		return "this machine has as many files open as it allows: raise that with `sysctl -w fs.file-max=1048576`"
	}
	return ""
}
