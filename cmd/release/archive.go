package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// packer is the part of an archive's format that differs.
type packer interface {
	// create begins a file; what is written to it before the next one is its content.
	create(name string, info fs.FileInfo, mode fs.FileMode) (io.Writer, error)
	Close() error
}

// archive writes the programs and what lies beside them: a zip for Windows, a compressed tar for the others.
func (r *release) archive(p programs, dist string) (string, error) {
	folder := fmt.Sprintf("hiregate_%s_%s_%s", r.version, p.os, p.arch)
	name := folder + ".tar.gz"
	if p.os == "windows" {
		name = folder + ".zip"
	}
	return name, writeFile(filepath.Join(dist, name), func(w io.Writer) error {
		pack := newTar(w, r.time)
		if p.os == "windows" {
			pack = &zipped{zip.NewWriter(w), r.time}
		}
		for _, program := range p.all() {
			if err := add(pack, program, path.Join(folder, filepath.Base(program)), 0o755); err != nil {
				return err
			}
		}
		for _, name := range r.documents.names() {
			if err := add(pack, r.documents[name], path.Join(folder, name), 0o644); err != nil {
				return err
			}
		}
		return pack.Close()
	})
}

func add(pack packer, file, name string, mode fs.FileMode) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w, err := pack.create(name, info, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

type tarred struct {
	*tar.Writer
	compressed *gzip.Writer
	time       time.Time
}

func newTar(w io.Writer, at time.Time) packer {
	compressed := gzip.NewWriter(w)
	return &tarred{tar.NewWriter(compressed), compressed, at}
}

func (t *tarred) create(name string, info fs.FileInfo, mode fs.FileMode) (io.Writer, error) {
	return t, t.WriteHeader(&tar.Header{Name: name, Size: info.Size(), Mode: int64(mode), ModTime: t.time})
}

func (t *tarred) Close() error {
	if err := t.Writer.Close(); err != nil {
		return err
	}
	return t.compressed.Close()
}

type zipped struct {
	*zip.Writer
	time time.Time
}

func (z *zipped) create(name string, _ fs.FileInfo, mode fs.FileMode) (io.Writer, error) {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.time}
	header.SetMode(mode)
	return z.CreateHeader(header)
}

// writeFile lets write fill a new file.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// writeChecksums writes checksums.txt, which sha256sum --check reads.
func writeChecksums(dist string) error {
	files, err := os.ReadDir(dist) // sorted
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, file := range files {
		sum, err := checksum(filepath.Join(dist, file.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, file.Name())
	}
	return os.WriteFile(filepath.Join(dist, "checksums.txt"), []byte(lines.String()), 0o644)
}

func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
