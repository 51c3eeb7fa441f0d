package filetype

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"regexp"
	"unicode/utf16"
)

const (
	plainText = "text/plain"
	mail      = "message/rfc822"
	bom       = "\ufeff"
	ctrlD     = "\x04" // ends a job at a serial printer: drivers begin one with it
	ctrlZ     = "\x1a" // ends a text of DOS
	// toPrinter begins a job in the language PJL, which says in which one the job goes on.
	toPrinter = "\x1b%-12345X"
)

// words are types that the library knows by a mark of letters or digits alone, with which a text may begin as well.
var words = map[string]bool{
	"application/vnd.microsoft.portable-executable": true, // MZ
	"application/x-bzip2":                           true, // BZh
	"application/x-shockwave-flash":                 true, // FWS
	"application/x-cpio":                            true, // 070707
}

// shortestProgram is the size of the header alone of a program whose mark is MZ.
const shortestProgram = 64

// mailHeader matches a header field that messages have which programs send, and letters that people write don't.
var mailHeader = regexp.MustCompile(`(?mi)^(received|message-id|mime-version|content-type|return-path|delivered-to):`)

// detectText gives the type of a text; found is what the library takes the file for. whole: the head is all of it.
func detectText(head []byte, whole bool, found string) string {
	text, ok := decode(head, whole)
	switch {
	case !ok && found == plainText: // a byte order mark does not make it one
		return unknown
	case !ok || len(text) == 0:
		return found
	case words[found]:
		if _, printable := decode(head, false); !printable || len(head) < shortestProgram {
			return found
		}
		text = append([]byte("\n"), text...) // so that the mark is at its place no more
	}
	found = library(text)
	if found == mail && !mailHeader.Match(text) {
		return plainText
	}
	return found
}

// decode returns a text as UTF-8, without what stands around it. It reports false if there are control characters in it
// that no text has.
func decode(head []byte, whole bool) (text []byte, ok bool) {
	text, ok = bytes.TrimPrefix(toUTF8(head), []byte(bom)), true
	if whole {
		text = bytes.TrimRight(text, "\x00"+ctrlZ)
	}
	return bytes.Map(func(r rune) rune {
		switch {
		case r == '\v', r == 0x0e, r == 0x1e, r == 0x1f: // word processors' soft break, column break and hyphens
			return '\n'
		case r < ' ' && r != '\t' && r != '\n' && r != '\f' && r != '\r' && r != 0x1b:
			ok = false
		}
		return r
	}, text), ok
}

// toUTF8 returns a text whose mark says that it is UTF-16 or UTF-32 as UTF-8, and any other one as it is.
func toUTF8(head []byte) []byte {
	for _, encoding := range []struct {
		mark  string
		order binary.ByteOrder
	}{
		{"\xff\xfe\x00\x00", binary.LittleEndian}, {"\x00\x00\xfe\xff", binary.BigEndian},
		{"\xff\xfe", binary.LittleEndian}, {"\xfe\xff", binary.BigEndian},
	} {
		encoded, found := bytes.CutPrefix(head, []byte(encoding.mark))
		switch {
		case found && len(encoding.mark) == 4:
			characters := make([]rune, len(encoded)/4)
			for n := range characters {
				characters[n] = rune(encoding.order.Uint32(encoded[4*n:]))
			}
			return []byte(string(characters))
		case found:
			units := make([]uint16, len(encoded)/2)
			for n := range units {
				units[n] = encoding.order.Uint16(encoded[2*n:])
			}
			return []byte(string(utf16.Decode(units)))
		}
	}
	return head
}

// detectPDF looks at what stands before the mark of a PDF file, which need not be its first bytes: printers' commands and
// the header of HTTP may, but nothing that is a page, a program or a picture by itself.
func detectPDF(head []byte) string {
	before, _, _ := bytes.Cut(head, []byte("%PDF-"))
	found := library(before)
	if named(found).Name == plainText || found == unknown || found == mail {
		return pdf
	}
	return found
}

// isPostScript reports whether a file is PostScript, also behind what printer drivers write before it, and with a preview.
func isPostScript(head []byte, r io.ReaderAt) (bool, error) {
	const preview = "\xc5\xd0\xd3\xc6" // an EPS file of DOS
	if bytes.HasPrefix(head, []byte(preview)) && len(head) >= 8 {
		var mark [2]byte
		_, err := r.ReadAt(mark[:], int64(binary.LittleEndian.Uint32(head[4:])))
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return string(mark[:]) == "%!", err
	}
	job := bytes.TrimPrefix(head, []byte(bom))
	job = bytes.TrimLeft(job, ctrlD+"\r\n\t ")
	for printer := false; ; {
		if rest, found := bytes.CutPrefix(job, []byte(toPrinter)); found {
			job, printer = rest, true
		} else if printer && bytes.HasPrefix(job, []byte("@PJL")) {
			_, job, _ = bytes.Cut(job, []byte("\n"))
		} else {
			break
		}
		job = bytes.TrimLeft(job, ctrlD+"\r\n\t ")
	}
	comment, found := bytes.CutPrefix(job, []byte("%!"))
	if !found {
		return false, nil
	}
	return !bytes.HasPrefix(bytes.ToUpper(comment[:min(len(comment), 3)]), []byte("TEX")), nil // a comment of TeX
}
