package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// checkPorts says which flag to change when an address can't be had. The server itself would end the process with a
// stack trace.
func checkPorts(o options) error {
	if err := checkPort(o.frontend(), "--port"); err != nil {
		return err
	}
	taken := map[int]string{o.port: "--port"}
	for _, more := range []struct {
		name string
		port int
	}{{"--ui-port", o.uiPort}, {"--metrics-port", o.metrics}} {
		if more.port == 0 {
			continue
		}
		if other, ok := taken[more.port]; ok {
			return fmt.Errorf("%s and %s are both %d; choose two different ports", other, more.name, more.port)
		}
		if err := checkPort(o.address(more.port), more.name); err != nil {
			return err
		}
		taken[more.port] = more.name
	}
	return nil
}

func checkPort(addr, name string) error {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is taken by another program; stop that program or choose another port with %s", addr, name)
	}
	if err != nil {
		return fmt.Errorf("can't listen on %s; choose another port with %s: %w", addr, name, err)
	}
	return l.Close()
}

// freePorts returns n different loopback ports that were free a moment ago.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free loopback port: %w", err)
		}
		defer l.Close() // only at the end, so that no port is handed out twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
