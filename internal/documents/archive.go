package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

const (
	// fetchAtOnce is the number of documents of one export that are fetched concurrently.
	fetchAtOnce = 4
	// fetchRun is the time in which Fetch starts attempts. It ends within another fetchTime, well before Temporal's
	// timeout of ten minutes, after which attempts would not be counted.
	fetchRun = 5 * time.Minute
	// rowsAtOnce is the number of rows that one transaction writes: an export may have ten thousand documents, and
	// acknowledgements wait for the transaction to end.
	rowsAtOnce = 500
)

// Archive stores the documents that exports reference: their rows in the database, their content in Files.
type Archive struct {
	Store   *store.DB
	Files   *Files
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger

	places     places
	stuck      atomic.Int64          // files that the last sweep could not remove
	unstorable atomic.Pointer[fault] // nil: documents can be stored, as far as is known
	unstored   unstored
	unreadable unreadable
}

// Progress counts the documents of an export by state.
type Progress struct {
	Fetched, GivenUp, Missing int
	Wait                      time.Duration // until the next of the missing ones is due
}

// Fetch makes one attempt at each document of an export that is missing and due, those with the fewest attempts first.
// It starts none after five minutes; the next call continues. It makes none while this export, or too many of the
// tenant's, are being fetched. It is idempotent and may run on several nodes at once: a document that is fetched twice
// is stored once. An error means that the store can't be used. A failed attempt is no error: it is stored, and counted
// in the progress.
func (a *Archive) Fetch(ctx context.Context, e *model.Export) (Progress, error) {
	return a.fetch(ctx, e, a.places.acquire, placeWithin)
}

// FetchInLine fetches like Fetch, for an export of a group. It waits up to patience for a place.
func (a *Archive) FetchInLine(ctx context.Context, e *model.Export, patience time.Duration) (Progress, error) {
	return a.fetch(ctx, e, a.places.acquireInLine, patience)
}

// fetch fetches like Fetch; acquire gives the export its place, within a time.
func (a *Archive) fetch(ctx context.Context, e *model.Export,
	acquire func(context.Context, string, int64, time.Duration) (func(), bool), within time.Duration) (Progress, error) {
	docs, err := a.documents(ctx, e)
	if err != nil {
		return Progress{}, err
	}
	progress := a.progress(docs)
	if progress.Missing == 0 || !slices.ContainsFunc(docs, a.due) {
		return progress, nil
	}
	release, ok := acquire(ctx, e.Tenant, e.ID, within)
	if !ok {
		progress.Wait = placeAgain + rand.N(placeAgain)
		return progress, ctx.Err()
	}
	defer release()
	// Read again: another call may have fetched them during the wait.
	if docs, err = a.Store.ListDocuments(ctx, e.ID); err != nil {
		return Progress{}, err
	}
	if err := a.run(ctx, e, docs); err != nil {
		return Progress{}, err
	}
	return a.progress(docs), nil
}

// run makes one attempt at each document that is due.
func (a *Archive) run(ctx context.Context, e *model.Export, docs []*model.Document) error {
	due := slices.DeleteFunc(slices.Clone(docs), func(d *model.Document) bool { return !a.due(d) })
	slices.SortStableFunc(due, func(one, other *model.Document) int { return cmp.Compare(one.Tries, other.Tries) })
	last := a.Now().Add(fetchRun)
	for turn := range slices.Chunk(due, rowsAtOnce) {
		if a.Now().After(last) {
			break // the rest come first the next time
		}
		// Inserted before the files are written, so that the sweep finds them after a crash, or after an error that
		// leaves open whether their rows were written.
		names, err := a.BeginUploads(ctx, len(turn))
		if err != nil {
			return fmt.Errorf("noting documents that are to be fetched: %w", err)
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(fetchAtOnce)
		for n, d := range turn {
			group.Go(func() error {
				if a.Now().After(last) {
					return nil
				}
				return a.attempt(ctx, e, d, names[n])
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) due(d *model.Document) bool {
	return d.State == model.Fetching && !d.NextAt.After(a.Now())
}

func (a *Archive) progress(docs []*model.Document) Progress {
	var p Progress
	for _, d := range docs {
		switch d.State {
		case model.Fetched:
			p.Fetched++
		case model.GivenUp:
			p.GivenUp++
		default:
			wait := max(d.NextAt.Sub(a.Now()), 100*time.Millisecond)
			if p.Missing == 0 || wait < p.Wait {
				p.Wait = wait
			}
			p.Missing++
		}
	}
	return p
}

// documents lists the documents of an export. The first call inserts them, from the attachments.
func (a *Archive) documents(ctx context.Context, e *model.Export) ([]*model.Document, error) {
	docs, err := a.Store.ListDocuments(ctx, e.ID)
	if err != nil || len(docs) >= e.Attachments {
		return docs, err
	}
	if e.Body == nil {
		defer func() { e.Body = nil }() // it is read for this alone, and fetching may take long
	}
	attachments, err := a.attachments(ctx, e)
	if err != nil {
		return nil, err
	}
	now, position := a.Now(), 0
	// an export in quarantine may have more attachments than are allowed
	all := attachments.Attachments[:min(len(attachments.Attachments), e.Attachments)]
	// after an error the next call continues
	for turn := range slices.Chunk(all, rowsAtOnce) {
		err := a.Store.Write(ctx, func(tx *store.Tx) error {
			for n, attachment := range turn {
				err := tx.InsertDocument(model.Document{
					ExportID: e.ID, Tenant: e.Tenant, Position: position + n, SourceURL: []byte(attachment.URL),
					CreatedAt: now,
				})
				if err != nil {
					return fmt.Errorf("entering a document: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		position += len(turn)
	}
	return a.Store.ListDocuments(ctx, e.ID)
}

func (a *Archive) attachments(ctx context.Context, e *model.Export) (*schemas.Document, error) {
	if e.Body == nil {
		if err := a.Store.LoadBody(ctx, e); err != nil {
			return nil, fmt.Errorf("loading the body: %w", err)
		}
	}
	doc, err := schemas.Guard(e.Body)
	if err != nil {
		return nil, fmt.Errorf("reading an accepted body again: %w", err)
	}
	return doc, nil
}

// attempt makes one attempt at a document and writes the result. name is the upload to fetch it into.
func (a *Archive) attempt(ctx context.Context, e *model.Export, d *model.Document, name string) error {
	now := a.Now()
	left := e.DocumentsTill.Sub(now)
	if left <= 0 {
		d.State = model.GivenUp
		if d.Reason == "" {
			d.Reason = "the document's URL ended before the gateway could fetch it: have the candidate exported again"
			d.OurFault = true
		}
		return a.finish(ctx, d, name, left, true)
	}
	c := a.InForce.Current()
	if c == nil {
		return errors.New("the gateway is stopping")
	}
	limited, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	fetched, err := Fetch(limited, c.Egress.Client(), string(d.SourceURL), a.Files, name)
	if ctx.Err() != nil {
		return ctx.Err() // the process ends: no failure of the document
	}
	d.Tries++
	if failure := new(FetchError); errors.As(err, &failure) {
		a.failed(d, failure, left)
		return a.finish(ctx, d, name, left, false)
	}
	failpoint.Reach(failpoint.DocumentKept)
	d.State, d.Reason, d.OurFault, d.NextAt, d.FetchedAt = model.Fetched, "", false, time.Time{}, a.Now()
	d.Blob, d.SHA256, d.Size = fetched.Name, fetched.SHA256[:], fetched.Size
	d.Declared, d.Detected, d.FileName = fetched.Declared, fetched.Detected, fetched.FileName
	return a.finish(ctx, d, name, left, false)
}

// failed schedules another attempt at a document, or gives it up.
func (a *Archive) failed(d *model.Document, failure *FetchError, left time.Duration) {
	d.Reason, d.OurFault = failure.Error(), failure.Ours()
	if failure.Class == ClassStore {
		if n, due := a.unstored.count(d.Tenant, a.Now()); due {
			a.Log.Warn("a document could not be stored; it is fetched again until its URL ends",
				zap.String("tenant", d.Tenant),
				zap.Int64("export", d.ExportID), zap.Duration("left", left), zap.Int("failures", n),
				zap.String("cause", failure.StoreCause()))
		}
	}
	switch failure.Verdict() {
	case GiveUp:
		d.State = model.GivenUp
	case GiveUpAfterTries:
		if d.Refusals++; d.Refusals >= GiveUpTries {
			d.State = model.GivenUp
		}
	}
	if d.State == model.Fetching {
		// The last attempt is due when the document's URL ends: what is missing then is given up.
		d.NextAt = a.Now().Add(min(Backoff(d.Tries, rand.Float64()), left))
	}
}

// finish writes a document and counts it when it is final. name is the upload that it was fetched into.
func (a *Archive) finish(ctx context.Context, d *model.Document, name string, left time.Duration, expired bool) error {
	if d.State == model.GivenUp {
		d.LostAt = a.Now()
	}
	var changed bool
	err := a.Store.Write(ctx, func(tx *store.Tx) (err error) {
		if changed, err = tx.UpdateDocument(d); err != nil || !changed {
			return err
		}
		if d.State == model.GivenUp {
			tx.CountEvent(model.DocumentsLost, d.Tenant, "", a.Now())
		}
		return ClaimUpload(tx, name)
	})
	if err != nil {
		return fmt.Errorf("writing a document: %w", err)
	}
	if !changed { // another node fetched it meanwhile
		return a.DiscardUploads(ctx, []string{name})
	}
	switch d.State {
	case model.Fetched:
		metrics.DocumentFetched(d.Tenant, d.Size, left)
	case model.GivenUp:
		metrics.DocumentLost(d.Tenant, expired)
		a.Log.Error("a document could not be fetched; its export is delivered without it",
			zap.String("tenant", d.Tenant), zap.Int64("export", d.ExportID),
			zap.Int("position", d.Position), zap.Int("tries", d.Tries), zap.String("reason", d.Reason))
	}
	return nil
}
