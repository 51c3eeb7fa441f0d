package check

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// listenAt listens at the address of --listen.
func listenAt(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, terminal.Unable(fmt.Errorf("listening on %s: %w; choose another address with --listen", terminal.Printable(address),
			terminal.Cause(err)))
	}
	return listener, nil
}

// watch plays the other side of a client or a service until all has come that is waited for, ctx ends or a time has passed.
func watch(ctx context.Context, listener net.Listener, played http.Handler, finished <-chan struct{}, wait time.Duration) error {
	server := &http.Server{Handler: played, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-finished:
	case <-ctx.Done():
	case <-time.After(wait):
	case err := <-served:
		return err
	}
	closing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = server.Shutdown(closing) // a request that is still there changes nothing any more
	return nil
}
