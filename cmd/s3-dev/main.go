// Command s3-dev is an S3 server on a folder, for tests: versitygw without what the tests do not need of it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	address := flag.String("address", "127.0.0.1:7070", "`host:port` to listen at")
	folder := flag.String("folder", "", "`folder` whose folders are the buckets")
	side := flag.String("side", "", "`folder` for what is known of the objects")
	lifeline := flag.Bool("lifeline", false, "end when standard input ends, so that a test that is killed leaves no server")
	flag.Parse()
	if *lifeline {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	}
	if err := run(*address, *folder, *side); err != nil {
		fmt.Fprintln(os.Stderr, "s3-dev:", err)
		os.Exit(1)
	}
}

func run(address, folder, side string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := meta.NewSideCar(side)
	if err != nil {
		return err
	}
	backend, err := posix.New(folder, store, posix.PosixOpts{SideCarDir: side})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, backend, &embedgw.Config{RootUserAccess: "key", RootUserSecret: "secret",
		Ports: []string{address}, HealthPath: "/health", Quiet: true, MultipartMaxParts: 10000,
		MaxConnections: 1000, MaxRequests: 1000})
}
