package dev

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// port is a port of this machine that `hiregate dev` is to listen at, and the flag that chooses it.
type port struct {
	flag   string // without its dashes
	number int
	both   bool // on ::1, too, where there is one
}

// checkPorts finds ports that can't be meant.
func checkPorts(ports []port) error {
	flags := map[int]string{}
	for _, p := range ports {
		if p.number < 1 || p.number > 65535 {
			return fmt.Errorf("--%s %d is not a port: choose one from 1 to 65535", p.flag, p.number)
		}
		if other, ok := flags[p.number]; ok {
			return fmt.Errorf("--%s and --%s are both %d: give each a port of its own", other, p.flag, p.number)
		}
		flags[p.number] = p.flag
	}
	return nil
}

// tryPorts checks that all ports can be listened at, by doing so for a moment, all at once. The error names each port
// that is taken, and its flag.
func tryPorts(ports []port) error {
	var taken []string
	for _, p := range ports {
		closeAll, err := p.listen()
		defer closeAll()
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			taken = append(taken, fmt.Sprintf("%d (--%s)", p.number, p.flag))
		case errors.Is(err, syscall.EACCES):
			return fmt.Errorf("you are not allowed to listen at port %d: choose one from 1024 up with --%s", p.number, p.flag)
		case err != nil:
			return fmt.Errorf("port %d can't be listened at: choose another with --%s: %w", p.number, p.flag,
				terminal.Cause(err))
		}
	}
	switch len(taken) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("port %s is taken: end the program that listens there, or choose another port with that flag",
			taken[0])
	default:
		return fmt.Errorf("ports %s are taken: end the programs that listen there, or choose other ports with those flags",
			strings.Join(taken, ", "))
	}
}

// tryPortsAgain retries for a moment: a killed process may have released its lock before its ports.
func tryPortsAgain(ports []port) error {
	for deadline := time.Now().Add(500 * time.Millisecond); ; time.Sleep(20 * time.Millisecond) {
		if err := tryPorts(ports); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (p port) listen() (closeAll func(), err error) {
	hosts := []string{"127.0.0.1"}
	if p.both && hasIPv6() {
		hosts = append(hosts, "::1")
	}
	var open []net.Listener
	closeAll = func() {
		for _, l := range open {
			l.Close()
		}
	}
	for _, host := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(p.number)))
		if err != nil {
			return closeAll, err
		}
		open = append(open, l)
	}
	return closeAll, nil
}

// hasIPv6 reports whether there is a ::1: containers often have none.
func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}
