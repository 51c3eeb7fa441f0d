package database

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrDamagedLog says that SQLite's write-ahead log is damaged before its end. SQLite would open the database without a
// word, and without the transactions from there on.
var ErrDamagedLog = errors.New("the write-ahead log of the database is damaged")

// A write-ahead log is a header and frames: a header and a page each. Numbers are big-endian; the checksums take the
// pages for numbers of the byte order that the log's header names. See "The Write-Ahead Log" in "Database File Format"
// of SQLite's documentation.
const (
	logHeaderSize   = 32
	frameHeaderSize = 24
	logMagic        = 0x377f0682 // and 1 more when the checksums are of big-endian numbers
	sectorSize      = 512        // bytes that a disk writes as a whole, or not at all
)

// logDamage describes a log that is damaged before its last transaction.
type logDamage struct {
	whole int64     // how many bytes of the log SQLite reads: it ends with the last transaction before the damage
	lost  int       // transactions that SQLite does not read, as far as they can be told
	until time.Time // of the last of them
}

// checksum is the state of a log's checksum.
type checksum [2]uint32

func checksumAt(b []byte) checksum {
	return checksum{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
}

// after returns the checksum of what came before and of further bytes, a multiple of 8.
func (c checksum) after(order binary.ByteOrder, bytes []byte) checksum {
	for ; len(bytes) > 0; bytes = bytes[8:] {
		c[0] += order.Uint32(bytes) + c[1]
		c[1] += order.Uint32(bytes[4:]) + c[0]
	}
	return c
}

// findLogDamage looks for damage in the write-ahead log of the database at a path; nil: there is none. It opens neither
// of them with SQLite, and may be called while another process writes to them.
//
// A log that ends in the middle of a transaction is what a power cut leaves: nobody was told that it was written. But
// the log is synced with each COMMIT, so once a later transaction was begun, the one before was whole.
func findLogDamage(path string) (*logDamage, error) {
	file, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("looking at the write-ahead log: %w", err)
	}
	defer file.Close()
	var header [logHeaderSize]byte
	if _, err := io.ReadFull(file, header[:]); err != nil {
		return nil, nil // an empty log
	}
	var found *logDamage
	scans, err := readings(path, header[:])
	for _, scan := range scans {
		if err == nil && found == nil {
			_, err = file.Seek(logHeaderSize, io.SeekStart)
		}
		if err == nil && found == nil {
			found, err = scan.run(bufio.NewReaderSize(file, 1<<20))
		}
	}
	if err != nil || found == nil {
		return nil, err
	}
	var now [logHeaderSize]byte
	info, err := file.Stat()
	if _, err := file.ReadAt(now[:], 0); err == nil && now != header {
		return nil, nil // another process began the log again meanwhile
	}
	if err == nil {
		found.until = info.ModTime()
	}
	return found, err
}

// logScan is a search for damage, with what the log's header says.
type logScan struct {
	order    binary.ByteOrder
	pageSize int
	salts    []byte // of two words each: every frame of the log repeats them
	stored   checksum
	computed checksum // what stored should be
	damaged  bool     // the header
}

// readings returns how a log can be read, by its header. A damaged one leaves open which byte order it named, and the
// size of pages is the database's.
func readings(path string, header []byte) ([]logScan, error) {
	s := logScan{salts: header[16:24], stored: checksumAt(header[24:]), pageSize: int(binary.BigEndian.Uint32(header[8:]))}
	orders := []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}
	var all []logScan
	for n, order := range orders {
		s.order, s.computed = order, checksum{}.after(order, header[:24])
		if s.computed == s.stored && binary.BigEndian.Uint32(header) == logMagic+uint32(n) {
			return []logScan{s}, nil
		}
		all = append(all, s)
	}
	size, err := pageSize(path)
	for n := range all {
		all[n].pageSize, all[n].damaged = size, true
	}
	return all, err
}

// pageSize reads the size of the pages of a database.
func pageSize(path string) (int, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("looking at the database: %w", err)
	}
	defer file.Close()
	var field [2]byte
	if _, err := file.ReadAt(field[:], 16); err != nil {
		return 0, fmt.Errorf("looking at the database: %w", err)
	}
	size := int(binary.BigEndian.Uint16(field[:]))
	if size == 1 {
		size = 1 << 16
	}
	if size < 512 || size&(size-1) != 0 {
		return 0, fmt.Errorf("the beginning of the database %s is damaged: put a backup in its place", path)
	}
	return size, nil
}

// run reads the frames up to the first one that is damaged, as SQLite does, and then those behind it.
func (s logScan) run(r io.Reader) (*logDamage, error) {
	frame := make([]byte, frameHeaderSize+s.pageSize)
	found := logDamage{}
	// The header is synced before the first frame is written, as a transaction is before the next one.
	broken, ended, later := s.damaged, s.damaged, false
	stored, computed := s.stored, s.computed // of the frame before
	if !broken {
		found.whole = logHeaderSize
	}
	for at := int64(logHeaderSize); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(r, frame); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the write-ahead log: %w", err)
		}
		own := checksumAt(frame[16:])
		sum := stored.after(s.order, frame[:8]).after(s.order, frame[frameHeaderSize:])
		last := binary.BigEndian.Uint32(frame[4:]) != 0 // of its transaction
		if !broken && sum == own && bytes.Equal(frame[8:16], s.salts) {
			stored, computed = own, own
			if last {
				found.whole = at + int64(len(frame))
			}
			continue
		}
		broken = true
		// A frame of an earlier log that was here has neither salt. One flipped bit leaves one of them.
		ours := bytes.Equal(frame[8:12], s.salts[:4]) || bytes.Equal(frame[12:16], s.salts[4:])
		follows := ours && (sum == own ||
			computed.after(s.order, frame[:8]).after(s.order, frame[frameHeaderSize:]) == own)
		later = later || ended && follows
		// Of a frame that was not written as a whole, the header was, unless two sectors have it.
		ended = last && (follows || ours && at/sectorSize == (at+frameHeaderSize-1)/sectorSize)
		if ended {
			found.lost++
		}
		stored, computed = own, sum
	}
	if !later || found.lost == 0 {
		return nil, nil
	}
	return &found, nil
}

// checkLog refuses a database whose log is damaged, and keeps a copy of the log: to open it with SQLite, be it another
// program's, would remove it.
func checkLog(path string) error {
	damage, err := findLogDamage(path)
	if damage == nil {
		return err
	}
	kept, err := keepLog(path)
	if err != nil {
		kept = fmt.Sprintf("no copy of it could be kept (%v)", err)
	} else {
		kept = "a copy is kept in " + kept
	}
	return fmt.Errorf("%s; %s. To go on without them: hiregate database cut-log sqlite://%s; or put a backup in its "+
		"place: %w", damage.describe(path), kept, path, ErrDamagedLog)
}

func (d *logDamage) describe(path string) string {
	return fmt.Sprintf("a transaction in the middle of %s-wal is damaged, and SQLite would drop it and all behind it without "+
		"a word: at least %d transactions until %s, with exports that were acknowledged", path, d.lost,
		d.until.UTC().Format(time.RFC3339))
}

// keepLog copies the log of the database at a path, unless there is a copy already: a gateway may be started again and
// again.
func keepLog(path string) (string, error) {
	from, err := os.Open(path + "-wal")
	if err != nil {
		return "", err
	}
	defer from.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, from); err != nil {
		return "", err
	}
	name := path + "-wal.damaged-" + hex.EncodeToString(digest.Sum(nil)[:4])
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	to, err := os.CreateTemp(filepath.Dir(path), filepath.Base(name)+".*")
	if err != nil {
		return "", err
	}
	defer os.Remove(to.Name()) // it has its name by then
	defer to.Close()
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(to, from); err != nil {
		return "", err
	}
	if err := to.Sync(); err != nil {
		return "", err
	}
	return name, os.Rename(to.Name(), name)
}

// CutLog cuts a damaged write-ahead log of the SQLite database at an address before the damage, and keeps a copy of it.
// The database is then what it was when the last transaction before the damage was committed. It returns a sentence that
// says what was done, and an error when what is left is damaged, too.
func CutLog(ctx context.Context, address string) (string, error) {
	d, err := parseAddress(address)
	if err != nil {
		return "", err
	}
	file, ok := d.(sqlite)
	if !ok {
		return "", fmt.Errorf("the database %s has no write-ahead log of SQLite: name one like %s", d, exampleSQLite)
	}
	path := file.path
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the database %s can't be read: correct its name: %w", path, err)
	}
	lock, err := acquireLock(path)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	damage, err := findLogDamage(path)
	if err != nil {
		return "", err
	}
	if damage == nil {
		return "the write-ahead log is whole: nothing was changed", nil
	}
	kept, err := keepLog(path)
	if err != nil {
		return "", fmt.Errorf("no copy of the log could be kept, so nothing was changed: %w", err)
	}
	if err := truncateLog(path, damage.whole); err != nil {
		return "", fmt.Errorf("cutting the write-ahead log: %w", err)
	}
	if err := checkIntegrity(ctx, path); err != nil {
		return "", fmt.Errorf("the log was cut before the damage, and a copy is kept in %s, but the database is damaged, too: "+
			"put a backup in its place: %w", kept, err)
	}
	return fmt.Sprintf("the write-ahead log was cut before the damage, and the database is whole; a copy of the log is kept "+
		"in %s; at least %d transactions until %s are lost", kept, damage.lost, damage.until.UTC().Format(time.RFC3339)), nil
}

func truncateLog(path string, size int64) error {
	log, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(log.Truncate(size), log.Sync(), log.Close())
}
