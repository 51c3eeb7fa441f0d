package filetype_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/filetype"
)

const noEntry = 0xFFFFFFFF

type oleEntry struct {
	name               string
	kind               byte
	left, right, child uint32
}

// compound writes a compound file ([MS-CFB]) of 512-byte sectors: first gap sectors of nothing, then the directory,
// then the allocation table. Streams have no content.
func compound(gap int, entries ...oleEntry) []byte {
	const sector = 512
	directory := (len(entries) + 3) / 4
	table := 1
	for ; table*sector/4 < gap+directory+table+table/127+1; table++ {
	}
	inHeader := min(table, 109)
	extra := (table - inHeader + 126) / 127
	out := make([]byte, (1+gap+directory+table+extra)*sector)
	put16 := func(at int, v uint16) { binary.LittleEndian.PutUint16(out[at:], v) }
	put32 := func(at int, v uint32) { binary.LittleEndian.PutUint32(out[at:], v) }
	copy(out, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	put16(26, 3)
	put16(28, 0xFFFE)
	put16(30, 9)
	put16(32, 6)
	put32(44, uint32(table))
	put32(48, uint32(gap))
	put32(56, 4096)
	put32(60, 0xFFFFFFFE)
	put32(68, 0xFFFFFFFE)
	for n := range 109 {
		put32(76+4*n, noEntry)
	}
	for n := range inHeader {
		put32(76+4*n, uint32(gap+directory+n))
	}
	if extra > 0 {
		put32(68, uint32(gap+directory+table))
		put32(72, uint32(extra))
	}
	for n := range extra {
		at := (1 + gap + directory + table + n) * sector
		for k := range 127 {
			put32(at+4*k, noEntry)
			if number := inHeader + n*127 + k; number < table {
				put32(at+4*k, uint32(gap+directory+number))
			}
		}
		next := uint32(0xFFFFFFFE)
		if n+1 < extra {
			next = uint32(gap + directory + table + n + 1)
		}
		put32(at+508, next)
	}
	for n := range directory { // its chain
		next := uint32(gap + n + 1)
		if n+1 == directory {
			next = 0xFFFFFFFE
		}
		put32((1+gap+directory)*sector+4*(gap+n), next)
	}
	for n, e := range entries {
		at := (1+gap)*sector + 128*n
		for k, c := range utf16.Encode([]rune(e.name)) {
			put16(at+2*k, c)
		}
		put16(at+64, uint16(2*len(e.name)+2))
		out[at+66] = e.kind
		put32(at+68, e.left)
		put32(at+72, e.right)
		put32(at+76, e.child)
	}
	return out
}

func root(child uint32) oleEntry { return oleEntry{"Root Entry", 5, noEntry, noEntry, child} }

func stream(name string, left, right uint32) oleEntry {
	return oleEntry{name, 2, left, right, noEntry}
}

// A compound file is what the streams in its root say, wherever in the file its directory is.
func TestCompoundFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"WordDocument": "application/msword", "Workbook": "application/vnd.ms-excel", "Book": "application/vnd.ms-excel",
		"PowerPoint Document": "application/vnd.ms-powerpoint", "EncryptedPackage": filetype.Protected,
		"worddocument": "application/msword", "WORKBOOK": "application/vnd.ms-excel", "Contents": "application/x-ole-storage",
	} {
		for _, gap := range []int{0, 7, 200, 15_000} { // of 15,000 sectors, the header can't name all of the table
			require.Equal(t, want, detect(t, compound(gap, root(1), stream(name, noEntry, noEntry))).Name,
				"%s behind %d sectors", name, gap)
			require.Equal(t, want, detect(t, compound(gap,
				root(2), stream("A", noEntry, noEntry), stream("B", 1, 3), stream("C", noEntry, 4), stream("D", 5, noEntry),
				stream(name, noEntry, noEntry),
			)).Name, "%s deep in the tree, behind %d sectors", name, gap)
		}
	}
	embedded := compound(0, root(1), oleEntry{"Attachment", 1, noEntry, noEntry, 2},
		stream("WordDocument", noEntry, noEntry))
	require.Equal(t, "application/x-ole-storage", detect(t, embedded).Name, "what is embedded does not count")
	storage := compound(0, root(1), oleEntry{"WordDocument", 1, noEntry, noEntry, noEntry})
	require.Equal(t, "application/x-ole-storage", detect(t, storage).Name, "a storage is no stream")
	installer := compound(0, root(1), stream("\u4840\u3f3f", noEntry, noEntry))
	require.Equal(t, "application/x-ole-storage", detect(t, installer).Name)
}

// What is broken, or made to be, ends and is no document.
func TestBrokenCompoundFiles(t *testing.T) {
	t.Parallel()
	good := compound(0, root(1), stream("WordDocument", noEntry, noEntry))
	require.Equal(t, "application/msword", detect(t, good).Name)
	edit := func(at int, v uint32) []byte {
		c := append([]byte{}, good...)
		binary.LittleEndian.PutUint32(c[at:], v)
		return c
	}
	for why, content := range map[string][]byte{
		"no such size of sector":             edit(30, 40),
		"the directory is nowhere":           edit(48, 1<<20),
		"there is no directory":              edit(48, 0xFFFFFFFE),
		"the directory is a circle":          edit(1024, 0),
		"the table is nowhere":               edit(76, 1<<30),
		"there is no table":                  edit(76, noEntry),
		"more of the table is nowhere":       edit(68, 1<<30),
		"more of the table is a circle":      edit(68, 0),
		"the root's child is nowhere":        edit(512+76, 1<<20),
		"an entry's sibling is nowhere":      edit(512+128+68, 1<<20),
		"a child is its own sibling":         edit(512+128+72, 1),
		"it is cut off within the header":    good[:300],
		"it is cut off within the directory": good[:600],
	} {
		require.Equal(t, "application/x-ole-storage", detect(t, content).Name, why)
	}
}

// counted counts how often something is read of it.
type counted struct {
	*bytes.Reader
	reads int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, off)
}

// A large file that leads round in circles is given up in time.
func TestCompoundFileIsReadSoOftenAtMost(t *testing.T) {
	t.Parallel()
	for _, at := range []int{48, 68} {
		content := make([]byte, 10<<20)
		copy(content, compound(0, root(1), stream("WordDocument", noEntry, noEntry)))
		if at == 68 {
			binary.LittleEndian.PutUint32(content[at:], 0) // more of the table
		} else {
			binary.LittleEndian.PutUint32(content[1024:], 0) // the directory
		}
		c := &counted{Reader: bytes.NewReader(content)}
		found, err := filetype.Detect(c, int64(len(content)))
		require.NoError(t, err)
		require.Equal(t, "application/x-ole-storage", found.Name)
		require.Less(t, c.reads, 17_000)
	}
}
