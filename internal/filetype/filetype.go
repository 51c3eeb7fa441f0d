// Package filetype finds the type of a file that an applicant sends, from nothing but the file's bytes:
// neither its name nor what the sender says of it is of account.
package filetype

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gabriel-vasile/mimetype"
)

// Type is the type of a file.
type Type struct {
	// Name is a media type without parameters: the contract's where it has one for the type, else the detector's.
	Name string
	// Extension ends the file's name, with its dot; empty if the contract does not have the type.
	Extension string
}

const (
	empty      = "application/x-empty"
	unknown    = "application/octet-stream"
	postScript = "application/postscript"
	ole        = "application/x-ole-storage"
	plainZip   = "application/zip"
	pdf        = "application/pdf"
	rtf        = "text/rtf"
	// Protected is the type of an Office document that only its password opens.
	Protected = "application/x-protected-office"
)

// headSize is how many bytes the detector looks at.
const headSize = 4096

// Detect returns the type of a file of size bytes. Only errors of reading are errors: what nobody knows is
// application/octet-stream, and what has no bytes is application/x-empty.
func Detect(r io.ReaderAt, size int64) (Type, error) {
	if size == 0 {
		return Type{Name: empty}, nil
	}
	head := make([]byte, min(size, headSize))
	if n, err := r.ReadAt(head, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(head)) {
		return Type{}, fmt.Errorf("reading a file to find its type: %w", err)
	}
	name, err := detect(head, r, size)
	if err != nil {
		return Type{}, fmt.Errorf("reading a file to find its type: %w", err)
	}
	return named(name), nil
}

// detect gives the detector's name, or a better one: the detector knows a type by a mark at its place, and a file may have
// the mark elsewhere, or nothing else of the type.
func detect(head []byte, r io.ReaderAt, size int64) (string, error) {
	if is, err := isPostScript(head, r); is || err != nil {
		return postScript, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(oleMagic)):
		return detectOLE(head, r, size)
	case bytes.HasPrefix(head, []byte(`{\rtf`)): // what follows the last brace, and pictures in it, need not be text
		return rtf, nil
	}
	switch found := library(head); {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")),
		bytes.HasPrefix(head, []byte("PK\x07\x08")):
		return detectZip(r, size, found)
	case found == pdf:
		return detectPDF(head), nil
	case films[found]:
		return detectFilm(r, size, found)
	default:
		return detectText(head, int64(len(head)) == size, found), nil
	}
}

// library gives the library's own types, never their parents: HTML and SVG are children of plain text there, JAR of ZIP.
func library(head []byte) string { return withoutParameters(mimetype.Detect(head).String()) }

// named finds the contract's name of a type.
func named(detected string) Type {
	if other, ok := aliases[detected]; ok {
		detected = other
	}
	if t, ok := byName[detected]; ok {
		return Type{Name: detected, Extension: t.extension}
	}
	return Type{Name: detected}
}

// Extension returns what the names of files of a type end in, with its dot; empty: the contract does not have the type.
func Extension(name string) string { return named(name).Extension }

// All returns the names of the types that a File question takes (contract, "Accepted MIME types for File"), in the order
// of the table in types.go.
func All() []string { return names(func(contractType) bool { return true }) }

// ForResume returns the names of the types that the question with id resume takes (contract, "The question with id
// resume"), in the same order.
func ForResume() []string { return names(func(t contractType) bool { return t.resume }) }

func names(which func(contractType) bool) (all []string) {
	for _, t := range types {
		if which(t) {
			all = append(all, t.names...)
		}
	}
	return all
}
