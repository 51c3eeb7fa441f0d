package filetype

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
)

// oleMagic begins a compound file ([MS-CFB]), in which the older formats of Office keep what belongs to a document as
// streams.
const oleMagic = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// streams maps a stream's name, in lower case, to the type of the compound file: programs find a stream whatever the case
// of its letters is ([MS-CFB] section 2.6.4).
var streams = map[string]string{
	"worddocument":        "application/msword",
	"workbook":            "application/vnd.ms-excel",
	"book":                "application/vnd.ms-excel", // up to Excel 95
	"powerpoint document": "application/vnd.ms-powerpoint",
	"encryptedpackage":    Protected, // ([MS-OFFCRYPTO] section 2.3.4.4)
}

const (
	oleHeader    = 512
	oleEntry     = 128
	oleStream    = 2          // the type of an entry
	oleNone      = 0xFFFFFFFF // no entry there
	oleMaxSector = 0xFFFFFFFA // numbers above it mean something else than a sector
	oleInHeader  = 109        // how many sectors of the allocation table the header names
	// what is read of it at most, in pieces: of a file that is sealed each may have 64 KiB opened
	oleReads = 16 << 10
)

// compound reads the directory of a compound file, a little at a time.
type compound struct {
	r         io.ReaderAt
	sector    int64    // its size in bytes
	sectors   int64    // how many there can be
	table     []uint32 // the sectors of the allocation table
	directory []uint32 // the sectors of the directory
	reads     int
}

// read reads a piece that lies anywhere.
func (c *compound) read(p []byte, place int64) error {
	if c.reads++; c.reads > oleReads {
		return errBroken
	}
	_, err := c.r.ReadAt(p, place)
	return err
}

var errBroken = errors.New("a broken compound file")

// detectOLE decides by the streams in the root of a compound file. Those of what is embedded in it lie deeper.
func detectOLE(head []byte, r io.ReaderAt, size int64) (string, error) {
	c, err := openCompound(head, r, size)
	found := ole
	if err == nil {
		err = c.root(func(name string) {
			if t, ok := streams[strings.ToLower(name)]; ok {
				found = t
			}
		})
	}
	if errors.Is(err, errBroken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ole, nil
	}
	return found, err
}

func openCompound(head []byte, r io.ReaderAt, size int64) (*compound, error) {
	if len(head) < oleHeader {
		return nil, errBroken
	}
	shift := binary.LittleEndian.Uint16(head[30:])
	if shift != 9 && shift != 12 {
		return nil, errBroken
	}
	c := &compound{r: r, sector: 1 << shift}
	c.sectors = size / c.sector
	for n := range oleInHeader {
		if s := binary.LittleEndian.Uint32(head[76+4*n:]); s < oleMaxSector {
			c.table = append(c.table, s)
		}
	}
	if err := c.moreTable(binary.LittleEndian.Uint32(head[68:])); err != nil {
		return nil, err
	}
	var err error
	c.directory, err = c.chain(binary.LittleEndian.Uint32(head[48:]))
	return c, err
}

// moreTable reads which sectors the allocation table has beyond those that the header names. Only files of more than 6
// MiB have some.
func (c *compound) moreTable(next uint32) error {
	block := make([]byte, c.sector)
	for steps := int64(0); next < oleMaxSector; steps++ {
		if steps > c.sectors {
			return errBroken
		}
		if err := c.read(block, c.place(next)); err != nil {
			return err
		}
		last := len(block) - 4
		for at := 0; at < last; at += 4 {
			if s := binary.LittleEndian.Uint32(block[at:]); s < oleMaxSector && int64(len(c.table)) < c.sectors {
				c.table = append(c.table, s)
			}
		}
		next = binary.LittleEndian.Uint32(block[last:])
	}
	return nil
}

// place returns the offset of a sector in the file. The header takes up one.
func (c *compound) place(sector uint32) int64 { return (int64(sector) + 1) * c.sector }

// chain follows the allocation table from a sector to the end.
func (c *compound) chain(next uint32) (all []uint32, err error) {
	var word [4]byte
	perSector := c.sector / int64(len(word))
	for next < oleMaxSector {
		all = append(all, next)
		at := int64(next) / perSector
		if int64(len(all)) > c.sectors || at >= int64(len(c.table)) {
			return nil, errBroken
		}
		if err := c.read(word[:], c.place(c.table[at])+4*(int64(next)%perSector)); err != nil {
			return nil, err
		}
		next = binary.LittleEndian.Uint32(word[:])
	}
	return all, nil
}

// root calls see with the name of each stream in the root. They form a binary tree.
func (c *compound) root(see func(name string)) error {
	first, err := c.entry(0)
	if err != nil {
		return err
	}
	left := int64(len(c.directory)) * c.sector / oleEntry // more there can't be, unless they form a circle
	for open := []uint32{first.child}; len(open) > 0; {
		next := open[len(open)-1]
		open = open[:len(open)-1]
		if next == oleNone {
			continue
		}
		if left--; left < 0 {
			return errBroken
		}
		e, err := c.entry(next)
		if err != nil {
			return err
		}
		if e.kind == oleStream {
			see(e.name)
		}
		open = append(open, e.left, e.right)
	}
	return nil
}

type directoryEntry struct {
	name               string
	kind               byte
	left, right, child uint32
}

func (c *compound) entry(n uint32) (e directoryEntry, err error) {
	perSector := uint32(c.sector / oleEntry)
	if int64(n/perSector) >= int64(len(c.directory)) {
		return e, errBroken
	}
	var raw [oleEntry]byte
	if err := c.read(raw[:], c.place(c.directory[n/perSector])+int64(n%perSector)*oleEntry); err != nil {
		return e, err
	}
	length := min(int(binary.LittleEndian.Uint16(raw[64:])), 64) / 2
	name := make([]uint16, 0, 32)
	for i := range max(length-1, 0) { // without the zero at the end
		name = append(name, binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return directoryEntry{
		name: string(utf16.Decode(name)), kind: raw[66],
		left: binary.LittleEndian.Uint32(raw[68:]), right: binary.LittleEndian.Uint32(raw[72:]),
		child: binary.LittleEndian.Uint32(raw[76:]),
	}, nil
}
