package takeout

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Source has all that a takeout reads.
type Source struct {
	Store  *store.DB
	Files  *documents.Files
	Tenant string
}

const (
	linesAtOnce        = 4 << 20 // bytes of records of an entry of the archive, about
	applicationsAtOnce = 100     // between two places to go on from
)

// writer is an archive while it is written.
type writer struct {
	Source
	Place
	resumed bool
	tar     *tar.Writer
	at      time.Time
	lines   bytes.Buffer       // the records of the next entry
	taken   map[[2]string]bool // records, by kind and id
	files   map[string]bool    // by name
	missing []Missing          // since the last progress
}

// Write writes an archive, or what is left of one from a place that its last progress names. What a job application refers
// to comes before it, also where it is stored meanwhile.
func Write(ctx context.Context, out io.Writer, from Source, resume *Place, now time.Time) error {
	w := &writer{Source: from, Place: Place{Began: now}, tar: tar.NewWriter(out), at: now, taken: map[[2]string]bool{},
		files: map[string]bool{}, missing: []Missing{}}
	if resume != nil {
		w.Place, w.resumed = *resume, true
	} else if err := w.json(HeaderName, Header{Format: format, Tenant: from.Tenant, At: now,
		Without: []string{"compliance answers"}}); err != nil {
		return err
	}
	parts := [partsOfAll]func(context.Context) error{w.steps, w.jobs, w.candidates, w.applications}
	for ; w.Part < partsOfAll; w.Part++ {
		if err := parts[w.Part](ctx); err != nil {
			return err
		}
		w.After = ""
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.json(EndName, End{w.Counts, w.missing}); err != nil {
		return err
	}
	return w.tar.Close()
}

func (w *writer) steps(ctx context.Context) error {
	return pages(w.After, w.mark, func(p store.Page) ([]*model.Step, string, error) { return w.Store.ListSteps(ctx, w.Tenant, p) },
		func(s *model.Step) error { return w.record(&Record{Step: s}) })
}

func (w *writer) jobs(ctx context.Context) error {
	return pages(w.After, w.mark, func(p store.Page) ([]*model.Job, string, error) {
		return w.Store.ListJobs(ctx, w.Tenant, store.JobFilter{}, p)
	}, func(j *model.Job) error { return w.record(&Record{Job: j}) })
}

func (w *writer) candidates(ctx context.Context) error {
	return pages(w.After, w.mark, func(p store.Page) ([]*model.Candidate, string, error) {
		return w.Store.ListCandidates(ctx, w.Tenant, store.CandidateFilter{}, p)
	}, func(c *model.Candidate) error { return w.record(&Record{Candidate: c}) })
}

// pages goes through a list from a cursor on, and calls between with the cursor after each page but the last.
func pages[T any](after string, between func(after string) error, list func(store.Page) ([]*T, string, error),
	do func(*T) error) error {
	for p := (store.Page{After: after, Limit: store.MaxPage}); ; {
		page, next, err := list(p)
		if err != nil {
			return err
		}
		for _, one := range page {
			if err := do(one); err != nil {
				return err
			}
		}
		if p.After = next; next == "" {
			return nil
		}
		if err := between(next); err != nil {
			return err
		}
	}
}

func (w *writer) applications(ctx context.Context) (err error) {
	f := store.ApplicationFilter{Order: store.OldestFirst, Answers: true, Limit: applicationsAtOnce}
	if w.After != "" {
		if f.After, err = strconv.ParseInt(w.After, 10, 64); err != nil {
			return err
		}
	}
	for {
		page, err := w.Store.ListJobApplications(ctx, w.Tenant, f)
		if err != nil {
			return err
		}
		for _, one := range page.Items {
			if err := w.application(ctx, one); err != nil {
				return err
			}
		}
		if f.After = page.End; !page.More {
			return nil
		}
		if err := w.mark(strconv.FormatInt(f.After, 10)); err != nil {
			return err
		}
	}
}

func (w *writer) application(ctx context.Context, one store.ListedApplication) error {
	a := &Application{JobApplication: *one.JobApplication, Answers: one.Answers}
	if !w.taken[[2]string{"candidate", a.Candidate}] {
		c, err := w.Store.Candidate(ctx, w.Tenant, a.Candidate)
		if errors.Is(err, store.ErrNotFound) {
			return nil // erased meanwhile, and the job application with it
		}
		if err == nil {
			err = w.refer(&Record{Candidate: c})
		}
		if err != nil {
			return err
		}
	}
	if a.Job != "" && !w.taken[[2]string{"job", a.Job}] {
		j, err := w.Store.Job(ctx, w.Tenant, a.Job)
		if err == nil {
			err = w.refer(&Record{Job: j})
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	for before := int64(0); ; {
		page, next, err := w.Store.ListTransitions(ctx, w.Tenant, a.ID, before, store.MaxPage)
		if err != nil {
			return err
		}
		for _, t := range page {
			a.Transitions = append(a.Transitions, api.Transition{ID: strconv.FormatInt(t.ID, 10), Application: a.ID,
				Step: t.Status.Step, Name: t.Status.Name, Category: t.Status.Category, EnteredAt: t.Status.EnteredAt,
				Export: t.Export})
		}
		if before = next; next == 0 {
			break
		}
	}
	for i, j := 0, len(a.Transitions)-1; i < j; i, j = i+1, j-1 {
		a.Transitions[i], a.Transitions[j] = a.Transitions[j], a.Transitions[i]
	}
	all, _, err := w.Store.ListApplicationDocuments(ctx, w.Tenant, a.ID, 0, maxDocuments)
	if err != nil {
		return err
	}
	for _, d := range all {
		file, err := w.file(d)
		if err != nil {
			return err
		}
		a.Documents = append(a.Documents, api.DumpedUpload{Document: api.DocumentOf(d), File: file})
	}
	if err := w.record(&Record{Application: a}); err != nil || a.VersionOf != "" {
		return err
	}
	unmarked := func(string) error { return nil }
	return pages("", unmarked, func(p store.Page) ([]*model.JobApplication, string, error) {
		return w.Store.ListApplicationVersions(ctx, w.Tenant, a.ID, p)
	}, func(v *model.JobApplication) error {
		answers, err := w.Store.ApplicationAnswers(ctx, w.Tenant, v.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return w.application(ctx, store.ListedApplication{JobApplication: v, Answers: answers})
	})
}

// file adds the file of a document, and returns its name; empty: it is left out.
func (w *writer) file(d *model.ApplicationDocument) (string, error) {
	lacks := func(reason string, damaged bool) (string, error) {
		w.missing = append(w.missing, Missing{d.Application, d.ID, reason, damaged})
		return "", nil
	}
	switch d.Scan {
	case model.Refused:
		return lacks("the scanner refused it", false)
	case model.ScanPending:
		return lacks("it is being scanned", false)
	}
	name := filesBegin + hex.EncodeToString(d.SHA256)
	if w.files[name] {
		return name, nil
	}
	raw, err := w.content(d)
	switch {
	case errors.Is(err, store.ErrUnreadable), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		return lacks("it is damaged or gone", true)
	case err != nil:
		return "", fmt.Errorf("reading a document: %w", err)
	}
	w.files[name] = true
	w.Counts.Files++
	return name, w.entry(name, raw)
}

func (w *writer) content(d *model.ApplicationDocument) ([]byte, error) {
	content, err := w.Files.OpenWhole(d.Blob, d.Size, d.SHA256)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(content)
	return raw, errors.Join(err, content.Close())
}

// refer adds a record that a job application refers to. What a resumed takeout adds again is counted already.
func (w *writer) refer(r *Record) error {
	counts := w.Counts
	err := w.record(r)
	if w.resumed && r.row().CreatedAt.Before(w.Began) {
		w.Counts = counts
	}
	return err
}

// record adds a record.
func (w *writer) record(r *Record) error {
	kind, id := r.id()
	if w.taken[[2]string{kind, id}] {
		return nil
	}
	w.taken[[2]string{kind, id}] = true
	switch {
	case r.Step != nil:
		w.Steps++
	case r.Job != nil:
		w.Jobs++
	case r.Candidate != nil:
		w.Candidates++
	default:
		w.Applications++
	}
	raw, err := encoded(r)
	if err != nil {
		return err
	}
	w.lines.Write(raw)
	if w.lines.Len() < linesAtOnce {
		return nil
	}
	return w.flush()
}

// flush writes the records into an entry of their own.
func (w *writer) flush() error {
	if w.lines.Len() == 0 {
		return nil
	}
	w.Entries++
	err := w.entry(fmt.Sprintf("records/%06d%s", w.Entries, recordsEnd), w.lines.Bytes())
	w.lines.Reset()
	return err
}

// mark ends what is complete, and names the place to go on from.
func (w *writer) mark(after string) error {
	if err := w.flush(); err != nil {
		return err
	}
	w.After = after
	err := w.json(fmt.Sprintf("%s%06d.json", progressBegin, w.Entries), Progress{w.Place.String(), w.missing})
	w.missing = []Missing{}
	return err
}

func (w *writer) json(name string, v any) error {
	raw, err := encoded(v)
	if err != nil {
		return err
	}
	return w.entry(name, raw)
}

func (w *writer) entry(name string, raw []byte) error {
	err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(raw)), ModTime: w.at.Truncate(time.Second)})
	if err == nil {
		_, err = w.tar.Write(raw)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func encoded(v any) ([]byte, error) {
	raw, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	return append(raw, '\n'), err
}
