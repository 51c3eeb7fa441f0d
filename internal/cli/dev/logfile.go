package dev

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

const (
	// logName is the file in the folder of the data that has every line of the gateway.
	logName = "gateway.log"
	// maxLog is the size in bytes at which it is renamed to gateway.log.old, and begins again.
	maxLog = 16 << 20
)

// logFile appends lines to a file of bounded size. It never fails after it was opened: a full disk must not stop the
// process that writes the lines.
type logFile struct {
	path string
	file *os.File
	size int64
}

func openLog(dir string) (*logFile, error) {
	l := &logFile{path: filepath.Join(dir, logName)}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("the gateway's log can't be written: %w", err)
	}
	return l, nil
}

func (l *logFile) open() (err error) {
	if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("opening %s: %w", l.path, terminal.Cause(err))
	}
	if info, err := l.file.Stat(); err == nil {
		l.size = info.Size()
	}
	return nil
}

func (l *logFile) line(text string) {
	if l.size >= maxLog {
		l.close()
		if os.Rename(l.path, l.path+".old") != nil || l.open() != nil {
			l.size = maxLog // until it works
		}
	}
	n, _ := l.file.WriteString(text + "\n")
	l.size += int64(n)
}

func (l *logFile) close() { l.file.Close() }
