package erasure

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/filelock"
)

// List is an open list of erasures. Several processes may append to one file.
type List struct {
	path string
	keys *keys
	id   string

	mu sync.Mutex
	at position // what was read so far
}

// position is a place in a list, after a line.
type position struct {
	lines  int64
	offset int64
	former string // SHA-256 of the last line
}

// locked is how long an append waits for other processes that append.
const locked = 5 * time.Second

// Open opens the list at a path, or makes it with its keys. It checks every line.
func Open(path string) (*List, error) {
	l := &List{path: path}
	err := l.within(func(f *os.File) (err error) {
		if l.keys, err = openKeys(f); err != nil {
			return err
		}
		l.id = hex.EncodeToString(l.public()[:8])
		_, err = l.read(f, nil)
		return err
	})
	return l, err
}

func (l *List) public() ed25519.PublicKey { return l.keys.signing.Public().(ed25519.PublicKey) }

// ID identifies the list.
func (l *List) ID() string { return l.id }

// Len returns the number of entries, as far as they were read.
func (l *List) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.lines
}

// Append appends an entry and returns its number. The entry is on disk then.
func (l *List) Append(kind Kind, tenant, id string, at time.Time) (number int64, err error) {
	err = l.within(func(f *os.File) error {
		end, err := l.read(f, nil)
		if err != nil {
			return err
		}
		e := Entry{Number: end.lines + 1, At: at.UTC(), Kind: kind, Of: l.keys.of(kind, tenant, id), Former: end.former}
		line, err := l.sign(&e)
		if err != nil {
			return err
		}
		if err = f.Truncate(end.offset); err == nil {
			_, err = f.WriteAt(line, end.offset)
		}
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return errors.Join(err, f.Truncate(end.offset))
		}
		number = e.Number
		l.at = end.after(line)
		return writeHead(l.path, l.at.lines)
	})
	if err != nil {
		return 0, fmt.Errorf("appending to the list of erasures: %w", err)
	}
	return number, nil
}

// After finds what the entries after a number are about. The list must be as long at least.
func (l *List) After(number int64) (found *Listed, entries int64, err error) {
	found = &Listed{keys: l.keys, entries: map[listed]time.Time{}}
	err = l.within(func(f *os.File) error {
		l.at = position{}
		end, err := l.read(f, func(e *Entry) {
			if e.Number <= number {
				return
			}
			entries++
			if k := (listed{e.Kind, e.Of}); e.At.After(found.entries[k]) {
				found.entries[k] = e.At
			}
		})
		if err == nil && end.lines < number {
			err = fmt.Errorf("line %d of %s is missing: the database knows of %d erasures; put the whole list back",
				end.lines+1, l.path, number)
		}
		return err
	})
	return found, entries, err
}

// within runs do with the file, locked for this process.
func (l *List) within(do func(*os.File) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("opening the list of erasures: %w", err)
	}
	defer f.Close()
	for end := time.Now().Add(locked); ; time.Sleep(5 * time.Millisecond) {
		if err = filelock.Try(f); err == nil {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("locking the list of erasures %s, which another process holds: %w", l.path, err)
		}
	}
	defer filelock.Unlock(f)
	return do(f)
}

// read checks the lines that follow what was read, and passes each entry on. A last line without its end is what a crash
// left of an append whose erasure never began: the next append replaces it.
func (l *List) read(f *os.File, each func(*Entry)) (position, error) {
	raw, err := io.ReadAll(io.NewSectionReader(f, l.at.offset, 1<<62))
	if err != nil {
		return l.at, fmt.Errorf("reading the list of erasures: %w", err)
	}
	at := l.at
	for {
		end := bytes.IndexByte(raw, '\n')
		if end < 0 {
			break
		}
		line := raw[:end+1]
		raw = raw[end+1:]
		e, err := l.parse(line, at)
		if err != nil {
			return at, fmt.Errorf("line %d of %s %w: put back the list as it was", at.lines+1, l.path, err)
		}
		if each != nil {
			each(e)
		}
		at = at.after(line)
	}
	head, err := readHead(l.path)
	if err != nil {
		return at, err
	}
	if at.lines < head {
		return at, fmt.Errorf("line %d of %s is missing: %s says that there are %d; put back the list as it was",
			at.lines+1, l.path, filepath.Base(headPath(l.path)), head)
	}
	l.at = at
	return at, nil
}

func (p position) after(line []byte) position {
	sum := sha256.Sum256(line)
	return position{lines: p.lines + 1, offset: p.offset + int64(len(line)), former: hex.EncodeToString(sum[:])}
}

const signature = `,"signature":"`

// sign returns the line of an entry.
func (l *List) sign(e *Entry) ([]byte, error) {
	signed, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	sum := ed25519.Sign(l.keys.signing, signed)
	line := append(signed[:len(signed)-1:len(signed)-1], signature...)
	return append(base64.RawStdEncoding.AppendEncode(line, sum), "\"}\n"...), nil
}

// parse reads and checks the line after a position.
func (l *List) parse(line []byte, after position) (*Entry, error) {
	text := strings.TrimSuffix(string(line), "\"}\n")
	signed, written, ok := strings.Cut(text, signature)
	sum, err := base64.RawStdEncoding.DecodeString(written)
	signed += "}"
	if !ok || err != nil || !ed25519.Verify(l.public(), []byte(signed), sum) {
		return nil, errors.New("was not signed by this list's key")
	}
	e := new(Entry)
	if err := json.Unmarshal([]byte(signed), e); err != nil {
		return nil, fmt.Errorf("is no entry: %w", err)
	}
	if e.Number != after.lines+1 || e.Former != after.former {
		return nil, errors.New("does not follow the line before it")
	}
	return e, nil
}

// The head says how many entries there are, so that a list that lost its end is noticed.
func headPath(path string) string { return path + ".head" }

func writeHead(path string, lines int64) error {
	f, err := os.OpenFile(headPath(path), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%20d\n", lines), 0) // in place: a crash leaves the former number
	return errors.Join(err, f.Close())
}

func readHead(path string) (lines int64, err error) {
	raw, err := os.ReadFile(headPath(path))
	if err == nil {
		lines, err = strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("%s does not say how long the list of erasures is: put it back, or write the number of "+
			"lines of %s into it: %w", headPath(path), path, err)
	}
	return lines, nil
}
