package filetype

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
)

// inside maps the name of a file in a ZIP archive to the type of the archive. The detector finds most of this by
// itself, but only looks at what stands at the archive's beginning, while the order of the files in it is of no
// account.
var inside = map[string]string{
	"word/document.xml":    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	"xl/workbook.xml":      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	"ppt/presentation.xml": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	"META-INF/MANIFEST.MF": "application/java-archive",
	"AndroidManifest.xml":  "application/vnd.android.package-archive",
}

// withMacros are the types of Office documents that hold programs (macros). Applications may have none: the contract
// does not name them.
var withMacros = map[string]string{
	inside["word/document.xml"]:    "application/vnd.ms-word.document.macroEnabled.12",
	inside["xl/workbook.xml"]:      "application/vnd.ms-excel.sheet.macroEnabled.12",
	inside["ppt/presentation.xml"]: "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
}

// What tells of macros: the customary name of their part, and the word in the list of the parts' types ([ECMA-376]
// part 2, section 7), without which Office runs none.
const (
	macroPart    = "vbaproject.bin"
	contentTypes = "[content_types].xml"
	macroEnabled = "macroenabled"
	maxTypes     = 1 << 20 // bytes that are read of that list
)

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
	zipFileSize    = 30 // of what stands before a file, without name and extra field
	zipDeflated    = 8
)

// detectZip looks into an archive's directory, without keeping it: it may have as many entries as fit into the file.
// An archive without a readable directory is still a ZIP archive.
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
	found, macros, listed := plainZip, false, false
	for {
		e, err := nextEntry(directory)
		if err != nil {
			if other, ok := withMacros[found]; ok && macros {
				found = other
			}
			return found, unlessOver(err)
		}
		// What runs as a program is one, whatever else it is.
		if other, ok := inside[e.name]; ok && (found == plainZip || strings.HasSuffix(other, "-archive")) {
			found = other
		}
		switch name := strings.ToLower(e.name); {
		case path.Base(name) == macroPart:
			macros = true
		case name == contentTypes && listed: // which of them holds is anybody's guess
			macros = true
		case name == contentTypes:
			listed = true
			told, err := e.tellsOfMacros(r)
			if err != nil {
				return found, err
			}
			macros = macros || told
		}
	}
}

// entry is a file in the directory of an archive.
type entry struct {
	name   string // empty where it is very long
	method uint16
	size   int64 // packed
	place  int64 // of what stands before the file
}

// tellsOfMacros looks for the word among the types in the list. A list that this reads not, and Office might, may have
// it.
func (e *entry) tellsOfMacros(r io.ReaderAt) (bool, error) {
	var head [zipFileSize]byte
	if _, err := r.ReadAt(head[:], e.place); err != nil {
		return true, unlessOver(err)
	}
	place := e.place + zipFileSize + int64(binary.LittleEndian.Uint16(head[26:])) +
		int64(binary.LittleEndian.Uint16(head[28:]))
	var content io.Reader = io.NewSectionReader(r, place, e.size)
	if e.method == zipDeflated {
		content = flate.NewReader(content)
	}
	list := xml.NewDecoder(io.LimitReader(content, maxTypes))
	for {
		token, err := list.Token()
		if err != nil {
			return !errors.Is(err, io.EOF), nil
		}
		if element, ok := token.(xml.StartElement); ok && slices.ContainsFunc(element.Attr, func(a xml.Attr) bool {
			return strings.Contains(strings.ToLower(a.Value), macroEnabled)
		}) {
			return true, nil
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

// nextEntry reads an entry of the directory.
func nextEntry(directory *bufio.Reader) (e entry, err error) {
	var raw [zipEntrySize]byte
	if _, err := io.ReadFull(directory, raw[:]); err != nil {
		return e, err
	}
	if string(raw[:4]) != zipEntryMagic {
		return e, errNoEntry
	}
	e.method = binary.LittleEndian.Uint16(raw[10:])
	e.size = int64(binary.LittleEndian.Uint32(raw[20:]))
	e.place = int64(binary.LittleEndian.Uint32(raw[42:]))
	length := int(binary.LittleEndian.Uint16(raw[28:]))
	rest := int(binary.LittleEndian.Uint16(raw[30:])) + int(binary.LittleEndian.Uint16(raw[32:]))
	name := make([]byte, 0, min(length, zipMaxName))
	if length <= zipMaxName {
		name = name[:length]
		if _, err := io.ReadFull(directory, name); err != nil {
			return e, err
		}
	} else {
		rest += length
	}
	_, err = directory.Discard(rest)
	e.name = string(name)
	return e, err
}
