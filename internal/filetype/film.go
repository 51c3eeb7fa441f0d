package filetype

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// films are the types that the library gives files of boxes (ISO/IEC 14496-12), but for those that it knows to be of the
// contract or pictures.
var films = map[string]bool{
	"video/quicktime": true, "video/3gpp": true, "video/3gpp2": true, "video/vnd.dvb.file": true,
}

// maxBoxes is how many boxes are passed to find the one that names the type.
const maxBoxes = 16

// detectFilm reads the box ftyp, which need not be the first one, and the brands in it. A file that says that it can be
// read as MP4 is MP4, whatever its first brand is; found is what the library takes it for.
func detectFilm(r io.ReaderAt, size int64, found string) (string, error) {
	var head [8]byte
	for at, n := int64(0), 0; at+int64(len(head)) <= size && n < maxBoxes; n++ {
		if _, err := r.ReadAt(head[:], at); err != nil {
			return found, unlessOver(err)
		}
		length := int64(binary.BigEndian.Uint32(head[:]))
		switch kind := string(head[4:]); {
		case kind == "ftyp":
			brands := make([]byte, min(max(length-8, 0), 256, size-at-8))
			if _, err := r.ReadAt(brands, at+8); err != nil && !errors.Is(err, io.EOF) {
				return found, err
			}
			return brandOf(brands, found), nil
		case length < 8, kind != "free" && kind != "skip" && kind != "wide":
			return found, nil
		}
		at += length
	}
	return found, nil
}

// brandOf gives the type of a box ftyp: its first brand, a version, and those that it can be read as.
func brandOf(box []byte, found string) string {
	if bytes.HasPrefix(box, []byte("qt  ")) {
		return found
	}
	for at := 0; at+4 <= len(box); at += 4 {
		if at == 4 { // the version
			continue
		}
		if brand := string(box[at : at+4]); brand == "mp41" || brand == "mp42" {
			return "video/mp4"
		}
	}
	if len(box) >= 4 && found == "video/quicktime" { // which was found by another box
		return library(append([]byte("\x00\x00\x00\x18ftyp"), box...))
	}
	return found
}
