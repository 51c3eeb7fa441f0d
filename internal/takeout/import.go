package takeout

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Target is where an archive is brought in.
type Target struct {
	Store   *store.DB
	Archive *documents.Archive
	List    *erasure.List // of erasures; nil: there is none
	// Serves reports whether the tenant has an integration. Helpers that name another are left out.
	Serves func(integration string) bool
}

const (
	recordsAtOnce = 200       // in a transaction
	filesAtOnce   = 100 << 20 // bytes of files of those
)

// importer writes an archive.
type importer struct {
	*Archive
	Target
	counts  api.ImportCounts
	erased  *erasure.Listed
	batch   []*Record
	waiting int64 // bytes of files of the batch
}

// Import writes what the archive has and the store lacks: what is there of the same id stays as it is. So an import that
// broke off is made again. It exports nothing and brings back nobody who was erased. tell is called after each transaction.
func (a *Archive) Import(ctx context.Context, to Target, tell func(api.ImportCounts) error) error {
	i := &importer{Archive: a, Target: to}
	for _, applications := range []bool{false, true} { // what they refer to comes first, wherever it stands
		err := i.each(func(_ string, r *Record) error {
			if (r.Application != nil) != applications || !a.first(r) {
				return nil
			}
			if err := r.complete(a.Tenant, a.now); err != nil {
				return err
			}
			i.batch = append(i.batch, r)
			if r.Application != nil {
				for _, d := range r.Application.Documents {
					i.waiting += d.Size
				}
			}
			if len(i.batch) < recordsAtOnce && i.waiting < filesAtOnce {
				return nil
			}
			return i.write(ctx, tell)
		})
		if err == nil {
			err = i.write(ctx, tell)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// first reports whether a record is the first of its id: a takeout that was resumed may have one twice.
func (a *Archive) first(r *Record) bool {
	kind, id := r.id()
	key := [2]string{kind, id}
	defer delete(a.seen, key)
	return a.seen[key]
}

func (i *importer) write(ctx context.Context, tell func(api.ImportCounts) error) (err error) {
	if i.List != nil { // somebody may be erased meanwhile
		if i.erased, _, err = i.List.After(0); err != nil {
			return err
		}
	}
	uploads, err := i.upload(ctx)
	if err != nil {
		return err
	}
	defer func() { // those that nothing took; what is left of them is the sweep's
		_ = i.Target.Archive.DiscardUploads(context.WithoutCancel(ctx), uploads.names())
	}()
	before := i.counts
	err = i.Store.Write(ctx, func(tx *store.Tx) error {
		i.counts = before
		for _, r := range i.batch {
			copied := *r
			if err := i.restore(tx, &copied, uploads); err != nil {
				kind, id := r.id()
				return fmt.Errorf("%s %s: %w", kind, id, err)
			}
		}
		return nil
	})
	if err != nil {
		i.counts = before
		return err
	}
	i.batch, i.waiting = nil, 0
	return tell(i.counts)
}

// restore writes a record unless it is there, or was erased.
func (i *importer) restore(tx *store.Tx, r *Record, files uploads) (err error) {
	var added bool
	var count *int
	switch {
	case r.Step != nil:
		count = &i.counts.Steps
		s := *r.Step
		if s.Helper != nil && slices.ContainsFunc(s.Helper.Integrations, func(name string) bool { return !i.Serves(name) }) {
			s.Helper = nil
			i.counts.Helpers++
		}
		added, err = tx.RestoreStep(&s)
	case r.Job != nil:
		count = &i.counts.Jobs
		j := *r.Job
		added, err = tx.RestoreJob(&j)
	case r.Candidate != nil:
		count = &i.counts.Candidates
		c := *r.Candidate
		if i.isErased(c.ID, c.CreatedAt) {
			i.counts.Erased++
			return nil
		}
		added, err = tx.RestoreCandidate(&c)
	default:
		return i.application(tx, r.Application, files)
	}
	if err != nil {
		return err
	}
	if added {
		*count++
	} else {
		i.counts.There++
	}
	return nil
}

// isErased reports whether something that was stored of a candidate at a time was erased since.
func (i *importer) isErased(candidate string, stored time.Time) bool {
	return i.erased != nil && !stored.After(i.erased.Candidate(i.Tenant, model.CandidateKey(candidate)))
}

func (i *importer) application(tx *store.Tx, a *Application, files uploads) error {
	erased, err := tx.IsErasedApplication(i.Tenant, a.ID)
	if err != nil {
		return err
	}
	if erased || i.isErased(a.Candidate, a.CreatedAt) {
		i.counts.Erased++
		return nil
	}
	if _, there, err := tx.JobApplication(i.Tenant, a.ID); err != nil || there {
		i.counts.There++
		return err
	}
	if _, there, err := tx.LockCandidate(i.Tenant, a.Candidate); err != nil || !there { // erased, and so is this
		i.counts.Erased++
		return err
	}
	if a.VersionOf != "" {
		if _, there, err := tx.LockJobApplication(i.Tenant, a.VersionOf); err != nil || !there {
			i.counts.Erased++
			return err
		}
	}
	if a.Job != "" {
		if _, there, err := tx.LockJob(i.Tenant, a.Job); err != nil || !there {
			return cmp.Or(err, fmt.Errorf("the job %q was deleted: import again", a.Job))
		}
	}
	one := a.JobApplication
	if added, err := tx.RestoreJobApplication(&one); err != nil || !added {
		i.counts.There++
		return err
	}
	if a.Answers != nil {
		if err := tx.InsertApplicationAnswers(i.Tenant, a.ID, a.Answers); err != nil {
			return err
		}
	}
	for _, t := range a.Transitions {
		id, _ := strconv.ParseInt(t.ID, 10, 64)
		if err := tx.RestoreTransition(&model.Transition{ID: id, Tenant: i.Tenant, Application: a.ID, Export: t.Export,
			Status: model.Status{Step: t.Step, Name: t.Name, Category: t.Category, EnteredAt: t.EnteredAt}}); err != nil {
			return err
		}
	}
	i.counts.Applications++
	return i.documents(tx, a, files)
}

func (i *importer) documents(tx *store.Tx, a *Application, files uploads) error {
	for n := range a.Documents {
		d := &a.Documents[n]
		name, ok := files[document{a.ID, d.ID}]
		if !ok {
			i.counts.WithoutFile++
			continue
		}
		sum, err := hex.DecodeString(d.SHA256)
		if err != nil {
			return err
		}
		added, err := i.Target.Archive.InsertDocument(tx, &model.ApplicationDocument{Key: model.NewID(d.CreatedAt), Tenant: i.Tenant,
			Application: a.ID, ID: d.ID, Descriptions: d.Descriptions, FileName: d.FileName, MediaType: d.MediaType,
			Blob: name, SHA256: sum, Size: d.Size, CreatedAt: d.CreatedAt})
		if err == nil && added {
			err = documents.ClaimUpload(tx, name)
		}
		if err != nil {
			return err
		}
		i.counts.Documents++
	}
	return nil
}

// document names a document.
type document struct{ application, id string }

// uploads are the names under which the files of documents lie in the document store.
type uploads map[document]string

func (u uploads) names() (all []string) {
	for _, name := range u {
		all = append(all, name)
	}
	return all
}

// upload stores the files of those job applications of the batch that are not there.
func (i *importer) upload(ctx context.Context) (uploads, error) {
	all := uploads{}
	for _, r := range i.batch {
		if r.Application == nil || len(r.Application.Documents) == 0 {
			continue
		}
		if _, err := i.Store.JobApplication(ctx, i.Tenant, r.Application.ID); err == nil {
			continue
		}
		for _, d := range r.Application.Documents {
			if d.File == "" {
				continue
			}
			name, err := i.put(ctx, i.files[d.File].span)
			if err != nil {
				return all, fmt.Errorf("storing a document: %w", err)
			}
			all[document{r.Application.ID, d.ID}] = name
		}
	}
	return all, nil
}

func (i *importer) put(ctx context.Context, file span) (string, error) {
	name, err := i.Target.Archive.BeginUpload(ctx)
	if err != nil {
		return "", err
	}
	_, err = i.Target.Archive.Files.Put(ctx, name, io.NewSectionReader(i.from, file.at, file.size), documents.MaxSize)
	return name, err
}
