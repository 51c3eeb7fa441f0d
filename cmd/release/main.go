// Command release builds what a release of hiregate consists of, into a folder: for each target an archive, for Linux also
// packages for Debian and for RPM, and an image; the components of each (CycloneDX), and the checksums of all. The same commit gives the
// same bytes, in whichever folder it is built.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	source := flag.String("source", ".", "the clone to build")
	dist := flag.String("dist", "dist", "the folder to write into; what is in it is removed")
	only := flag.String("only", "", "build one target alone, such as linux/amd64")
	flag.Parse()
	if err := run(ctx, *source, *dist, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run builds the release of the clone in source into dist.
func run(ctx context.Context, source, dist, only string) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	r, err := newRelease(ctx, source)
	if err != nil {
		return err
	}
	fmt.Printf("hiregate %s, %s\n", r.version, r.time.Format(time.RFC3339))
	if err := errors.Join(os.RemoveAll(dist), os.MkdirAll(dist, 0o755)); err != nil {
		return err
	}
	built, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	if r.documents, err = r.collect(built); err != nil {
		return err
	}
	for _, t := range chosen {
		began := time.Now()
		fmt.Printf("%s: the first time this takes minutes\n", t)
		p, err := r.compile(ctx, t, filepath.Join(built, t.String()))
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		files, err := r.artifacts(p, dist)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		fmt.Printf("  %s in %.0f s\n", strings.Join(files, ", "), time.Since(began).Seconds())
	}
	return writeChecksums(dist)
}

// artifacts writes what there is for one target, and the components of each; it returns their names.
func (r *release) artifacts(p programs, dist string) ([]string, error) {
	kinds := []struct {
		write    func(programs, string) (name string, err error)
		programs []string
	}{{r.archive, p.all()}}
	if p.os == "linux" {
		gateway := []string{p.gateway}
		kinds = append(kinds, []struct {
			write    func(programs, string) (string, error)
			programs []string
		}{{r.deb, gateway}, {r.rpm, gateway}, {r.image, gateway}}...)
	}
	var names []string
	for _, kind := range kinds {
		name, err := kind.write(p, dist)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if err := r.components(name, kind.programs, filepath.Join(dist, name+".cdx.json")); err != nil {
			return nil, err
		}
	}
	return names, nil
}
