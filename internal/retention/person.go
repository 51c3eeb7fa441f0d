package retention

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// ErrNoList says that no list of erasures is configured.
var ErrNoList = errors.New("there is no list of erasures, which keeps a backup from bringing a person back and has the key of " +
	"receipts: add the option erasures to the block hiregate")

// ErasedPerson has what was erased of a person, and what of it remains.
type ErasedPerson struct {
	At         time.Time
	Entry      int64 // of the list of erasures
	Candidates store.ErasedCandidate
	Exports    []*model.Export // as they were
	Documents  []*model.Document
	Submitted  []*model.Submission
	Deliveries []*model.Delivery // that were received
	Uncertain  []*model.Delivery // that were attempted in vain, or are perhaps being attempted: their receivers may have them
	Audit      int64             // entries that named the person
	Files      int               // that were removed
	Left       []string          // files that something else refers to, or that could not be removed yet
}

// ErasePerson erases all that is held of a candidate, in whatever state. It is entered in the list of erasures first: if
// it breaks off, the next start completes it.
func (r *Retention) ErasePerson(ctx context.Context, tenant, id string) (p *ErasedPerson, err error) {
	if id == "" {
		return nil, errors.New("a person without an id has only exports of their own")
	}
	if p, err = r.begin(erasure.Person, tenant, id); err != nil {
		return nil, err
	}
	// The candidate first: job applications trigger exports.
	p.Candidates, err = r.eraseCandidate(ctx, tenant, id, p.At, func(tx *store.Tx) error {
		p.Audit, err = tx.ForgetInAudit(tenant, id, p.applications())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("erasing a candidate: %w", err)
	}
	files := p.Candidates.Files()
	until := r.Now().Add(time.Microsecond) // what was triggered meanwhile has what is erased now
	for {
		page, _, err := r.Store.ListExports(ctx, store.ExportFilter{Tenant: tenant, Candidate: id, Until: until,
			Limit: store.MaxPage})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			names, err := r.eraseOf(ctx, p, e)
			if err != nil {
				return nil, fmt.Errorf("erasing an export: %w", err)
			}
			files = append(files, names...)
		}
	}
	return p, r.complete(ctx, p, files)
}

// ErasePersonsExport is ErasePerson for one export, which is not found by its candidate.
func (r *Retention) ErasePersonsExport(ctx context.Context, e *model.Export) (p *ErasedPerson, err error) {
	if p, err = r.begin(erasure.Export, e.Tenant, e.Key); err != nil {
		return nil, err
	}
	files, err := r.eraseOf(ctx, p, e)
	if err != nil {
		return nil, fmt.Errorf("erasing an export: %w", err)
	}
	return p, r.complete(ctx, p, files)
}

// ErasePersonsSubmission is ErasePerson for one submission.
func (r *Retention) ErasePersonsSubmission(ctx context.Context, s *model.Submission) (p *ErasedPerson, err error) {
	if p, err = r.begin(erasure.Submission, s.Tenant, s.ID); err != nil {
		return nil, err
	}
	files, err := r.EraseSubmission(ctx, s, func(*store.Tx) error { return nil })
	if err != nil {
		return nil, err
	}
	p.Submitted = []*model.Submission{s}
	return p, r.complete(ctx, p, files)
}

// EraseSubmission erases the content of a submission, and returns the names of its files. note writes beside it, last in
// the transaction.
func (r *Retention) EraseSubmission(ctx context.Context, s *model.Submission,
	note func(*store.Tx) error) (files []string, err error) {
	err = r.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if files, err = tx.EraseSubmission(s, r.Now()); err != nil {
			return err
		}
		return note(tx)
	})
	if err != nil {
		return nil, fmt.Errorf("erasing a submission: %w", err)
	}
	r.removeFiles(ctx, files)
	return files, nil
}

// begin enters what is to be erased in the list of erasures.
func (r *Retention) begin(kind erasure.Kind, tenant, id string) (p *ErasedPerson, err error) {
	if r.List == nil {
		return nil, ErrNoList
	}
	p = &ErasedPerson{At: r.Now().UTC().Truncate(time.Microsecond)}
	p.Entry, err = r.List.Append(kind, tenant, model.CandidateKey(id), p.At)
	return p, err
}

// complete looks which files are gone, and stores that the entry is carried out.
func (r *Retention) complete(ctx context.Context, p *ErasedPerson, files []string) error {
	if err := r.count(p, files); err != nil {
		return err
	}
	return r.Store.Write(ctx, func(tx *store.Tx) error { return tx.AdvanceErasures(r.List.ID(), p.Entry) })
}

func (p *ErasedPerson) applications() (ids []string) {
	for _, a := range p.Candidates.Applications {
		ids = append(ids, a.ID)
	}
	return ids
}

// eraseOf erases an export of a person, and returns the names of its files.
func (r *Retention) eraseOf(ctx context.Context, p *ErasedPerson, e *model.Export) (files []string, err error) {
	documents, err := r.Store.ListDocuments(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	files, left, err := r.eraseAgain(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	deliveries, err := r.Store.ListDeliveries(ctx, e.ID) // only now: some were received meanwhile
	if err != nil {
		return nil, err
	}
	p.Exports, p.Documents = append(p.Exports, e), append(p.Documents, documents...)
	for _, d := range deliveries {
		underWay := !e.Quarantined && slices.ContainsFunc(left, func(l *model.Delivery) bool {
			return l.ID == d.ID && l.Outcome != model.Held
		})
		switch {
		case d.Outcome == model.Delivered:
			p.Deliveries = append(p.Deliveries, d)
		case d.Attempts > 0 || underWay:
			p.Uncertain = append(p.Uncertain, d)
		}
	}
	return files, nil
}

// count looks which of some files are gone.
func (r *Retention) count(p *ErasedPerson, files []string) error {
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		content, _, err := r.Archive.Files.Open(name)
		if err == nil {
			err = content.Close()
			p.Left = append(p.Left, name)
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
			p.Files++
		}
		if err != nil {
			return fmt.Errorf("looking whether a file is gone: %w", err)
		}
	}
	return nil
}
