package filetype

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// inside tells by the name of a file in a ZIP archive what the archive is. The detector finds most of this by itself, but only
// looks at what stands at the archive's beginning, while the order of the files in it is of no account.
var inside = map[string]string{
	"word/document.xml":    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xl/workbook.xml":      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"ppt/presentation.xml": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"META-INF/MANIFEST.MF": "application/java-archive",
	"AndroidManifest.xml":  "application/vnd.android.package-archive",
}

// The parts of a ZIP archive (APPNOTE.TXT 6.3.10, sections 4.3.12 and 4.3.16), integers little endian.
const (
	zipEndSize     = 22
	zipMaxComment  = 1<<16 - 1
	zipEntrySize   = 46
	zipMaxName     = 1 << 10 // of those that are looked at
	zipEndMagic    = "PK\x05\x06"
	zipEntryMagic  = "PK\x01\x02"
	zipEndDirSize  = 12 // where in the end record the directory's size stands,
	zipEndDirPlace = 16 // and its place
)

// detectZip looks into an archive's directory, without keeping it: it may have as many entries as fit into the file. An archive
// without a readable directory is a ZIP archive all the same.
func detectZip(r io.ReaderAt, size int64) (string, error) {
	tail := make([]byte, min(size, zipEndSize+zipMaxComment))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	at := bytes.LastIndex(tail, []byte(zipEndMagic))
	if at < 0 || len(tail)-at < zipEndSize {
		return plainZip, nil
	}
	end := tail[at:]
	length := int64(binary.LittleEndian.Uint32(end[zipEndDirSize:]))
	place := int64(binary.LittleEndian.Uint32(end[zipEndDirPlace:]))
	directory := bufio.NewReader(io.NewSectionReader(r, place, length))
	found := plainZip
	for {
		name, err := nextEntry(directory)
		if err != nil {
			return found, unlessOver(err)
		}
		// What runs as a program is one, whatever else it is.
		if other, ok := inside[name]; ok && (found == plainZip || strings.HasSuffix(other, "-archive")) {
			found = other
		}
	}
}

var errNoEntry = errors.New("no entry of a ZIP archive's directory")

func unlessOver(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errNoEntry) {
		return nil
	}
	return err
}

// nextEntry reads an entry of the directory and gives the file's name, which is empty where it is very long.
func nextEntry(directory *bufio.Reader) (string, error) {
	var entry [zipEntrySize]byte
	if _, err := io.ReadFull(directory, entry[:]); err != nil {
		return "", err
	}
	if string(entry[:4]) != zipEntryMagic {
		return "", errNoEntry
	}
	length := int(binary.LittleEndian.Uint16(entry[28:]))
	rest := int(binary.LittleEndian.Uint16(entry[30:])) + int(binary.LittleEndian.Uint16(entry[32:]))
	name := make([]byte, 0, min(length, zipMaxName))
	if length <= zipMaxName {
		name = name[:length]
		if _, err := io.ReadFull(directory, name); err != nil {
			return "", err
		}
	} else {
		rest += length
	}
	_, err := directory.Discard(rest)
	return string(name), err
}
