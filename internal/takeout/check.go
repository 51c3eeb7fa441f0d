package takeout

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	// longestLine is the size of the longest record, in bytes: the largest job, and an application with the longest answers.
	longestLine = 16 << 20
	// mostFaults is how many faults are told.
	mostFaults = 50
	// longestJSON is the size of the longest header or end.
	longestJSON = 64 << 20
)

// span is a part of an archive.
type span struct{ at, size int64 }

// stored is a file of an archive.
type stored struct {
	span
	sha256 string
}

// Archive is an archive that was checked.
type Archive struct {
	from   io.ReaderAt
	now    time.Time
	Tenant string

	records []string // the names of the entries with records, in order
	spans   map[string]span
	files   map[string]stored
	seen    map[[2]string]bool // records, by kind and id
	faults  []string
}

// Check reads all of an archive, and says what is wrong with it, before anything of it is written: names, sizes, hashes,
// the tenant, and whether what a job application refers to is there, in the archive or in the store. lines says that it is
// NDJSON alone. What is wrong with the archive is an *model.InvalidError.
func Check(ctx context.Context, from io.ReaderAt, size int64, lines bool, tenant string, db *store.DB,
	now time.Time) (*Archive, error) {
	a := &Archive{from: from, now: micros(now), Tenant: tenant, spans: map[string]span{}, files: map[string]stored{},
		seen: map[[2]string]bool{}}
	if lines {
		a.records, a.spans["the file"] = []string{"the file"}, span{0, size}
	} else if err := a.index(size); err != nil {
		return nil, err
	}
	referred := map[[2]string]string{} // where it is referred to
	err := a.each(func(at string, r *Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		kind, id := r.id()
		if kind == "" {
			a.fault(at, errors.New("it is not one of step, job, candidate and jobApplication"))
			return nil
		}
		if err := r.complete(a.Tenant, a.now); err != nil {
			a.fault(at, err)
			return nil
		}
		a.seen[[2]string{kind, id}] = true
		if r.Application != nil {
			a.refer(at, r.Application, referred)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, one := range slices.SortedFunc(maps.Keys(referred), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		if a.seen[one] {
			continue
		}
		there, err := isThere(ctx, db, tenant, one)
		if err != nil {
			return nil, err
		}
		if !there {
			a.fault(referred[one], fmt.Errorf("the %s %q is neither in the archive nor in the gateway: put it in", one[0], one[1]))
		}
	}
	if len(a.faults) > 0 {
		return nil, &model.InvalidError{Faults: a.faults}
	}
	return a, nil
}

func isThere(ctx context.Context, db *store.DB, tenant string, one [2]string) (bool, error) {
	var err error
	switch one[0] {
	case "candidate":
		_, err = db.Candidate(ctx, tenant, one[1])
	case "job":
		_, err = db.Job(ctx, tenant, one[1])
	case "job application":
		_, err = db.JobApplication(ctx, tenant, one[1])
	default:
		_, err = db.Step(ctx, tenant, one[1])
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// refer notes what a job application refers to, and looks at its files.
func (a *Archive) refer(at string, one *Application, referred map[[2]string]string) {
	refer := func(kind, id string) {
		if key := [2]string{kind, id}; id != "" && referred[key] == "" {
			referred[key] = at
		}
	}
	refer("candidate", one.Candidate)
	refer("job", one.Job)
	refer("step", one.Status.Step)
	refer("job application", one.VersionOf)
	refer("job application", one.Chosen)
	for n := range one.Documents {
		d := &one.Documents[n]
		if d.File == "" {
			continue
		}
		file, ok := a.files[d.File]
		switch {
		case !ok:
			a.fault(at, fmt.Errorf("documents[%d].file %.80q is not in the archive", n, d.File))
		case file.size != d.Size || file.sha256 != d.SHA256:
			a.fault(at, fmt.Errorf("documents[%d].file %.80q has another size or SHA-256 than the record says", n, d.File))
		}
	}
}

func (a *Archive) fault(at string, err error) {
	if len(a.faults) < mostFaults {
		a.faults = append(a.faults, at+": "+err.Error())
	}
}

func broken(sentence string) error {
	return &model.InvalidError{Faults: []string{sentence}}
}

// index reads what entries the archive has, and the hashes of its files.
func (a *Archive) index(size int64) error {
	whole := io.NewSectionReader(a.from, 0, size)
	entries := tar.NewReader(whole)
	for n := 0; ; n++ {
		h, err := entries.Next()
		if err != nil {
			return broken("the archive is no tar, or it broke off before its " + EndName + ": go on with hiregate takeout " +
				"--resume, or take it out again")
		}
		at, err := whole.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		switch {
		case (n == 0) != (h.Name == HeaderName):
			return broken("the archive does not begin with one " + HeaderName + ": take it out with hiregate takeout")
		case n == 0:
			err = a.header(entries)
		case h.Typeflag != tar.TypeReg:
			err = broken(fmt.Sprintf("%.80q in the archive is no file", h.Name))
		case h.Name == EndName:
			return nil
		case strings.HasPrefix(h.Name, progressBegin):
		case a.spans[h.Name] != span{}:
			err = twice(h.Name)
		case strings.HasPrefix(h.Name, filesBegin):
			err = a.file(h.Name, span{at, h.Size}, entries)
		case strings.HasSuffix(h.Name, recordsEnd):
			a.records, a.spans[h.Name] = append(a.records, h.Name), span{at, h.Size}
		default:
			err = broken(fmt.Sprintf("%.80q in the archive is neither of records nor a file of a document", h.Name))
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = broken("the archive broke off: take it out again")
		}
		if err != nil {
			return err
		}
	}
}

func twice(name string) error { return broken(fmt.Sprintf("the archive has %.80q twice", name)) }

// file notes a file. A takeout that was resumed may have it twice.
func (a *Archive) file(name string, at span, content io.Reader) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return err
	}
	file := stored{at, hex.EncodeToString(sum.Sum(nil))}
	if before, there := a.files[name]; there && before.sha256 != file.sha256 {
		return twice(name)
	}
	a.files[name] = file
	return nil
}

func (a *Archive) header(r io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(r, longestJSON))
	if err != nil {
		return err
	}
	var h Header
	switch err := json.Unmarshal(raw, &h); {
	case err != nil || h.Format != format:
		return broken("the archive's " + HeaderName + " is not of this release: its format must be " + format)
	case h.Tenant != a.Tenant:
		return broken(fmt.Sprintf("the archive is of the tenant %.80q: bring it in there", h.Tenant))
	}
	return nil
}

// each calls do with each record, in order, and with where it stands.
func (a *Archive) each(do func(at string, r *Record) error) error {
	for _, name := range a.records {
		part := a.spans[name]
		lines := bufio.NewScanner(io.NewSectionReader(a.from, part.at, part.size))
		lines.Buffer(make([]byte, 64<<10), longestLine)
		for n := 1; lines.Scan(); n++ {
			raw := lines.Bytes()
			if len(strings.TrimSpace(string(raw[:min(len(raw), 64)]))) == 0 {
				continue
			}
			at, r := fmt.Sprintf("%s, line %d", name, n), new(Record)
			if err := json.Unmarshal(raw, r, json.RejectUnknownMembers(true)); err != nil {
				a.fault(at, unreadable(err))
				continue
			}
			if err := do(at, r); err != nil {
				return err
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			a.fault(name, fmt.Errorf("a line is longer than %d MiB", longestLine>>20))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// unreadable says why a line can't be read. It names members, and never gives their values.
func unreadable(err error) error {
	semantic := new(json.SemanticError)
	switch {
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return fmt.Errorf("the member %.80s is unknown here", semantic.JSONPointer)
	case errors.As(err, &semantic) && semantic.JSONPointer != "":
		return fmt.Errorf("the member %.80s is not what goes there", semantic.JSONPointer)
	}
	return errors.New("the line is no JSON object in UTF-8")
}
