package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// spent is processor time by the processes it was spent in, in microseconds; of the whole machine's PostgreSQL. It is 0 on
// systems without /proc.
type spent struct {
	Gateways float64 `json:"gatewayMicroseconds"`
	Temporal float64 `json:"temporalMicroseconds"`
	Postgres float64 `json:"postgresMicroseconds"`
}

// since returns what was spent since an earlier time, for each export.
func (s spent) since(before spent, exports int) spent {
	n := float64(exports)
	return spent{(s.Gateways - before.Gateways) / n, (s.Temporal - before.Temporal) / n, (s.Postgres - before.Postgres) / n}
}

// spent returns what a flow's processes have spent until now.
func (b *bench) spent(f *flow) (s spent) {
	for _, node := range f.nodes {
		s.Gateways += spentBy(node.command.Process.Pid)
	}
	s.Temporal = spentBy(f.temporal.command.Process.Pid)
	if !b.onPostgres {
		return s
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, comm := range processes {
		if name, err := os.ReadFile(comm); err == nil && strings.HasPrefix(string(name), "postgres") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(comm)))
			s.Postgres += spentBy(pid)
		}
	}
	return s
}

// ticksPerSecond is the unit of the times in /proc/<pid>/stat, proc(5).
const ticksPerSecond = 100

// spentBy returns the processor time of a process, in microseconds.
func spentBy(pid int) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // the name may hold blanks
	ticks := 0.0
	for _, one := range fields[11:13] { // utime, stime
		n, _ := strconv.ParseFloat(one, 64)
		ticks += n
	}
	return ticks * 1e6 / ticksPerSecond
}
