package takeout

import (
	"archive/tar"
	"encoding/json"
	"io"
	"strings"
)

// Followed says how far an archive came.
type Followed struct {
	Tenant  string
	Whole   int64     // bytes up to the end of the last Progress
	From    string    // which it names; empty: there is none
	Missing []Missing // up to there, or to the End
	End     *End      // nil: it has not come
}

// block is the size of what a tar consists of, in bytes.
const block = 512

// Follow reads an archive to its end, or what is left of one from a Progress on, and calls tell with the number of each
// entry. One that broke off is an io.ErrUnexpectedEOF.
func (f *Followed) Follow(archive io.Reader, tell func(entry int)) error {
	in := &counted{Reader: archive}
	entries := tar.NewReader(in)
	for n := 1; ; n++ {
		h, err := entries.Next()
		switch {
		case err == io.EOF && f.End != nil:
			_, err = io.Copy(io.Discard, archive)
			return err
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
		tell(n)
		read := func(into any) bool {
			var raw []byte
			if raw, err = io.ReadAll(io.LimitReader(entries, longestJSON)); err == nil {
				err = json.Unmarshal(raw, into)
			}
			return err == nil
		}
		var header Header
		var progress Progress
		var end End
		switch {
		case h.Name == HeaderName && read(&header):
			f.Tenant = header.Tenant
		case strings.HasPrefix(h.Name, progressBegin) && read(&progress):
			f.From, f.Whole = progress.From, (in.n+block-1)/block*block
			f.Missing = append(f.Missing, progress.Missing...)
		case h.Name == EndName && read(&end):
			f.End, f.Missing = &end, append(f.Missing, end.Missing...)
		}
		if err != nil {
			return err
		}
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}
