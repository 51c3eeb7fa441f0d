package filetype

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"
)

// The types of archives that are told by what is inside.
const (
	docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	pptx = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	odt  = "application/vnd.oasis.opendocument.text"
	// openDocument begins the types of OpenDocument.
	openDocument = "application/vnd.oasis.opendocument."
	jar          = "application/java-archive"
	apk          = "application/vnd.android.package-archive"
)

// parts maps the name of a file in an archive, in lower case, to the type of the archive.
var parts = map[string]string{
	"word/document.xml": docx, "xl/workbook.xml": xlsx, "ppt/presentation.xml": pptx,
	"meta-inf/manifest.mf": jar, "androidmanifest.xml": apk,
}

// mainParts maps the type of an Office document's main part ([ECMA-376] part 1, section 15.2), in lower case, to that of the
// document. The part may have any name. Templates are not among the contract's types.
var mainParts = map[string]string{
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml":   docx,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml":   "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml":         xlsx,
	"application/vnd.openxmlformats-officedocument.spreadsheetml.template.main+xml":      "application/vnd.openxmlformats-officedocument.spreadsheetml.template",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml": pptx,
	"application/vnd.openxmlformats-officedocument.presentationml.slideshow.main+xml":    pptx,
	"application/vnd.openxmlformats-officedocument.presentationml.template.main+xml":     "application/vnd.openxmlformats-officedocument.presentationml.template",
	"application/vnd.ms-excel.sheet.binary.macroenabled.main":                            withMacros[xlsx],
}

// withMacros are the types of Office documents that hold programs (macros). Applications may have none: the contract
// does not name them.
var withMacros = map[string]string{
	docx: "application/vnd.ms-word.document.macroEnabled.12",
	xlsx: "application/vnd.ms-excel.sheet.macroEnabled.12",
	pptx: "application/vnd.ms-powerpoint.presentation.macroEnabled.12",
}

// The files in an archive that say what it is, in lower case, and the word in the list of an Office document's types
// ([ECMA-376] part 2, section 7) without which Office runs no macros. The part of macros has its customary name.
const (
	macroPart    = "vbaproject.bin"
	contentTypes = "[content_types].xml"
	macroEnabled = "macroenabled"
	mimetypeFile = "mimetype"              // of OpenDocument (version 1.3, part 2, section 3.3),
	manifestFile = "meta-inf/manifest.xml" // where the former may be left out,
	contentFile  = "content.xml"           // and without which it is none
	// encryptedPackage is a whole package, as LibreOffice encrypts one since 24.8.
	encryptedPackage = "encrypted-package"
	maxList          = 1 << 20 // bytes that are read of a list
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
// found is what the library takes the file for by its first bytes, which holds where the directory can't be read.
func detectZip(r io.ReaderAt, size int64, found string) (string, error) {
	tail := make([]byte, min(size, zipEndSize+zipMaxComment))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	at := bytes.LastIndex(tail, []byte(zipEndMagic))
	if at < 0 || len(tail)-at < zipEndSize {
		return found, nil
	}
	end := tail[at:]
	length := int64(binary.LittleEndian.Uint32(end[zipEndDirSize:]))
	place := int64(binary.LittleEndian.Uint32(end[zipEndDirPlace:]))
	directory := bufio.NewReader(io.NewSectionReader(r, place, length))
	var seen contents
	for n := 0; ; n++ {
		e, err := nextEntry(directory)
		switch {
		case err != nil && n == 0:
			return found, unlessOver(err)
		case err != nil:
			return seen.kind(found), unlessOver(err)
		}
		if err := seen.add(&e, r); err != nil {
			return found, err
		}
	}
}

// contents has the facts about an archive that its files tell.
type contents struct {
	part         string // the first of the files that tell a type
	program      string // a file that makes a program of it, whatever else it is
	main         string // the document that the list of an Office document's types makes it
	listed       bool   // that list is there
	macros       bool
	typed        bool   // an OpenDocument file's mimetype is there,
	mimetype     string // what it says,
	manifested   bool   // its manifest,
	manifest     string // what that says,
	withContents bool   // and its content.xml
	encrypted    bool   // what is there in its place, if only a password opens it
}

// add looks at a file. Producers write names with backslashes, with a leading slash, and in any case.
func (c *contents) add(e *entry, r io.ReaderAt) error {
	name := strings.ToLower(strings.TrimLeft(strings.ReplaceAll(e.name, `\`, "/"), "./"))
	switch kind := parts[name]; {
	case kind == jar || kind == apk:
		c.program = cmp.Or(c.program, kind)
	case kind != "":
		c.part = cmp.Or(c.part, kind)
	case path.Base(name) == macroPart:
		c.macros = true
	case name == contentTypes && c.listed: // which of them holds is anybody's guess
		c.macros = true
	case name == contentTypes:
		c.listed = true
		return c.addTypes(e, r)
	case name == mimetypeFile && !c.typed: // the first one, and so below: a thousand would take long
		c.typed = true
		content, err := e.open(r)
		if err != nil {
			return unlessOver(err)
		}
		told, _ := io.ReadAll(io.LimitReader(content, zipMaxName))
		c.mimetype = strings.TrimSpace(strings.TrimPrefix(string(told), bom))
	case name == manifestFile && !c.manifested:
		c.manifested = true
		return c.addManifest(e, r)
	case name == contentFile:
		c.withContents = true
	case name == encryptedPackage:
		c.encrypted = true
	}
	return nil
}

// kind gives the type of the archive; found is what the library takes it for by its first files.
func (c *contents) kind(found string) string {
	if c.program != "" {
		return c.program
	}
	if document := cmp.Or(c.main, c.part); document != "" {
		if other, ok := withMacros[document]; ok && c.macros {
			return other
		}
		return document
	}
	if told := cmp.Or(c.mimetype, c.manifest); strings.HasPrefix(told, openDocument) {
		if c.withContents {
			return told
		} else if c.encrypted {
			return Protected
		}
	}
	if _, office := withMacros[found]; office || strings.HasPrefix(found, openDocument) {
		return plainZip // nothing inside makes it one
	}
	return found
}

// entry is a file in the directory of an archive.
type entry struct {
	name   string // empty where it is very long
	method uint16
	size   int64 // packed
	place  int64 // of what stands before the file
}

// open returns the content of a file, unpacked.
func (e *entry) open(r io.ReaderAt) (io.Reader, error) {
	var head [zipFileSize]byte
	if _, err := r.ReadAt(head[:], e.place); err != nil {
		return nil, err
	}
	place := e.place + zipFileSize + int64(binary.LittleEndian.Uint16(head[26:])) +
		int64(binary.LittleEndian.Uint16(head[28:]))
	var content io.Reader = io.NewSectionReader(r, place, e.size)
	if e.method == zipDeflated {
		content = flate.NewReader(content)
	}
	return content, nil
}

// elements calls see with the attributes of each element of a list, and reports whether it could read all of it.
func (e *entry) elements(r io.ReaderAt, see func(attribute map[string]string)) (whole bool, err error) {
	content, err := e.open(r)
	if err != nil {
		return false, unlessOver(err)
	}
	list := xml.NewDecoder(io.LimitReader(content, maxList))
	for {
		token, err := list.Token()
		if err != nil {
			return errors.Is(err, io.EOF), nil
		}
		if element, ok := token.(xml.StartElement); ok {
			attributes := map[string]string{}
			for _, a := range element.Attr {
				attributes[strings.ToLower(a.Name.Local)] = strings.TrimSpace(a.Value)
			}
			see(attributes)
		}
	}
}

// addTypes reads the list of the types of an Office document's parts. A list that this reads not, and Office might, may
// tell of macros.
func (c *contents) addTypes(e *entry, r io.ReaderAt) error {
	whole, err := e.elements(r, func(attribute map[string]string) {
		for _, value := range attribute {
			c.macros = c.macros || strings.Contains(strings.ToLower(value), macroEnabled)
		}
		c.main = cmp.Or(c.main, mainParts[strings.ToLower(attribute["contenttype"])])
	})
	c.macros = c.macros || !whole
	return err
}

// addManifest reads the type of an OpenDocument file in its manifest (version 1.3, part 2, section 4.3).
func (c *contents) addManifest(e *entry, r io.ReaderAt) error {
	_, err := e.elements(r, func(attribute map[string]string) {
		if attribute["full-path"] == "/" {
			c.manifest = cmp.Or(c.manifest, attribute["media-type"])
		}
	})
	return err
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
