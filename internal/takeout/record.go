// Package takeout writes all that a tenant's service keeps into one archive, and brings such an archive in: steps, jobs,
// candidates and job applications with answers, moves, documents and their files. Answers to the questions of compliance
// groups are left out.
//
// An archive is a tar with NDJSON and files. Its first entry is the Header, its last the End: without it, it is not whole.
// One that broke off is completed from the last Progress that it has: what was complete there is not read again.
package takeout

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
)

// HeaderName is the name of the first entry, a Header; EndName that of the last one, an End.
const (
	HeaderName = "takeout.json"
	EndName    = "end.json"
)

const (
	format        = "hiregate-takeout/1"
	recordsEnd    = ".ndjson"
	filesBegin    = "files/"
	progressBegin = "progress/"
)

// Header begins an archive.
type Header struct {
	Format  string    `json:"format"`
	Tenant  string    `json:"tenant"`
	At      time.Time `json:"at"`
	Without []string  `json:"without,omitempty"` // what is left out on purpose
}

// Counts is how much an archive has.
type Counts struct {
	Steps        int `json:"steps"`
	Jobs         int `json:"jobs"`
	Candidates   int `json:"candidates"`
	Applications int `json:"jobApplications"`
	Files        int `json:"files"`
}

// Progress stands in an archive after what is complete.
type Progress struct {
	From    string    `json:"from"`    // where a takeout that breaks off after it goes on
	Missing []Missing `json:"missing"` // since the progress before: files that are not there
}

// End ends an archive.
type End struct {
	Counts
	Missing []Missing `json:"missing"` // since the last progress
}

// Missing is a file that an archive lacks.
type Missing struct {
	Application string `json:"jobApplication"`
	Document    string `json:"document"`
	Reason      string `json:"reason"`
	Damaged     bool   `json:"damaged,omitempty"` // it can't be read; else it is left out on purpose
}

// Record is a line of NDJSON: one of these.
type Record struct {
	Step        *model.Step      `json:"step,omitempty"`
	Job         *model.Job       `json:"job,omitempty"`
	Candidate   *model.Candidate `json:"candidate,omitempty"`
	Application *Application     `json:"jobApplication,omitempty"`
}

// Application is a job application with what belongs to it.
type Application struct {
	model.JobApplication
	Answers     *model.ApplicationAnswers `json:"answers,omitempty"`     // nil: it did not come by the Apply API
	Transitions []api.Transition          `json:"transitions,omitempty"` // the first one first
	Documents   []api.DumpedUpload        `json:"documents,omitempty"`
}

// id returns the kind and the id of a record; empty: it is not one of the kinds.
func (r *Record) id() (kind, id string) {
	set := 0
	if r.Step != nil {
		set, kind, id = set+1, "step", r.Step.ID
	}
	if r.Job != nil {
		set, kind, id = set+1, "job", r.Job.BoardCode
	}
	if r.Candidate != nil {
		set, kind, id = set+1, "candidate", r.Candidate.ID
	}
	if r.Application != nil {
		set, kind, id = set+1, "job application", r.Application.ID
	}
	if set != 1 {
		return "", ""
	}
	return kind, id
}

func (r *Record) row() *model.Row {
	switch {
	case r.Step != nil:
		return &r.Step.Row
	case r.Job != nil:
		return &r.Job.Row
	case r.Candidate != nil:
		return &r.Candidate.Row
	}
	return &r.Application.Row
}

// complete completes what may be left out, and says what is wrong with a record by itself.
func (r *Record) complete(tenant string, now time.Time) error {
	row := r.row()
	switch {
	case row.Tenant != "" && row.Tenant != tenant:
		return fmt.Errorf("it is of the tenant %s: bring it in there", row.Tenant)
	case row.CreatedAt.After(now) || row.UpdatedAt.After(now):
		return errors.New("createdAt or updatedAt is in the future: write when it was")
	case row.Version < 0:
		return errors.New("version is negative: leave it out")
	}
	row.Tenant, row.Version = tenant, max(row.Version, 1)
	if row.CreatedAt.IsZero() {
		row.CreatedAt = now
	}
	if row.UpdatedAt.IsZero() {
		row.UpdatedAt = row.CreatedAt
	}
	row.CreatedAt, row.UpdatedAt = micros(row.CreatedAt), micros(row.UpdatedAt)
	switch {
	case r.Step != nil:
		return r.Step.Validate()
	case r.Job != nil:
		return compliance.Check(r.Job)
	case r.Candidate != nil:
		return r.Candidate.Validate()
	}
	return r.Application.complete(now)
}

func micros(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func (a *Application) complete(now time.Time) error {
	if a.LanguageCode == "" {
		a.LanguageCode = model.DefaultLanguage
	}
	if s := &a.Status; s.Step != "" {
		if s.EnteredAt.IsZero() {
			s.EnteredAt = a.UpdatedAt
		}
		if len(a.Transitions) == 0 {
			a.Transitions = []api.Transition{{Step: s.Step, Name: s.Name, Category: s.Category, EnteredAt: s.EnteredAt}}
		}
	}
	if !a.Status.EnteredAt.IsZero() {
		a.Status.EnteredAt = micros(a.Status.EnteredAt)
	}
	if err := a.JobApplication.Validate(); err != nil {
		return err
	}
	if e := a.Ended; e != nil {
		if e.At.IsZero() {
			e.At = a.UpdatedAt
		}
		if e.At = micros(e.At); e.At.After(now) {
			return errors.New("ended.at is in the future: write when it was")
		}
		if err := e.Validate(); err != nil {
			return err
		}
	}
	for n := range a.Transitions {
		t, at := &a.Transitions[n], fmt.Sprintf("transitions[%d]", n)
		t.EnteredAt = micros(t.EnteredAt)
		id, err := strconv.ParseInt(t.ID, 10, 64)
		switch {
		case t.Step == "":
			return errors.New(at + ".step is missing: name the step that was entered")
		case t.EnteredAt.Before(time.Unix(0, 0)) || t.EnteredAt.After(now):
			return errors.New(at + ".enteredAt is missing, or in the future: write when the step was entered")
		case n > 0 && t.EnteredAt.Before(a.Transitions[n-1].EnteredAt):
			return errors.New(at + " is before the one in front of it: write the first one first")
		case t.ID != "" && (err != nil || id <= 0):
			return errors.New(at + ".id is no id of a transition: leave it out")
		case t.Application != "" && t.Application != a.ID:
			return errors.New(at + " is of another job application")
		}
	}
	return a.completeDocuments(now)
}

// maxDocuments is the most documents that a job application has.
const maxDocuments = 100

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (a *Application) completeDocuments(now time.Time) error {
	if len(a.Documents) > maxDocuments {
		return fmt.Errorf("it has more than %d documents: leave some out", maxDocuments)
	}
	seen := map[string]bool{}
	for n := range a.Documents {
		d, at := &a.Documents[n], fmt.Sprintf("documents[%d]", n)
		if d.CreatedAt.IsZero() {
			d.CreatedAt = a.CreatedAt
		}
		d.CreatedAt = micros(d.CreatedAt)
		stored := model.ApplicationDocument{ID: d.ID, Descriptions: d.Descriptions, FileName: d.FileName, MediaType: d.MediaType}
		switch err := stored.Validate(); {
		case err != nil:
			return fmt.Errorf("%s: %w", at, err)
		case seen[d.ID]:
			return errors.New(at + ".id is that of another document: choose another")
		case d.Tenant != "" && d.Tenant != a.Tenant, d.Application != "" && d.Application != a.ID:
			return errors.New(at + " is of another tenant or job application")
		case strings.ContainsAny(d.FileName, `/\`):
			return errors.New(at + ".fileName has a folder in it: write the name alone")
		case d.CreatedAt.After(now):
			return errors.New(at + ".createdAt is in the future: write when it was")
		case d.Size < 1 || d.Size > documents.MaxSize:
			return fmt.Errorf("%s.size is not from 1 byte to %d MiB", at, documents.MaxSize>>20)
		case !sha256Text.MatchString(d.SHA256):
			return errors.New(at + ".sha256 is not the SHA-256 of the file, in hexadecimal digits")
		}
		seen[d.ID] = true
	}
	return nil
}
