// Package inbox is the one door through which every export enters, whatever its origin: what comes after it is the same
// code.
package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Verdict says how an export was taken.
type Verdict int

const (
	// Accepted: the export is new and is stored.
	Accepted Verdict = iota
	// Repeated: it was accepted before, with the same body.
	Repeated
	// Conflicting: its key belongs to an export with another body. It is not stored.
	Conflicting
)

// Result is the outcome of Insert and Accept.
type Result struct {
	Verdict    Verdict
	Receipt    string // of the accepted export; for a repeated one, of the first
	ReceivedAt time.Time
}

// NewExport makes the export of a body, ready for Insert: received at now, known by key, or by its hash when key is
// empty. The slices are kept, not copied.
func NewExport(tenant, key string, body []byte, now time.Time) *model.Export {
	now = now.UTC().Truncate(time.Microsecond)
	id := model.NewID(now)
	e := &model.Export{
		ID: id, Tenant: tenant, Key: key, Keyed: key != "", Origin: model.Received,
		SHA256: sha256.Sum256(body), Size: int64(len(body)), Body: body,
		Receipt: model.NewReceipt(id), ReceivedAt: now,
		DocumentsTill: now.Add(model.DocumentWindow), DeliverTill: now.Add(model.DeliveryWindow),
	}
	if !e.Keyed {
		// Distinct for each arrival: after ten minutes the same body is another export.
		e.Key = "sha256:" + hex.EncodeToString(e.SHA256[:]) + ":" + strconv.FormatInt(now.UnixMicro(), 10)
	}
	return e
}

// Insert stores an export, within a transaction. Once that is committed, and not before, the export may be
// acknowledged; whoever commits then offers it to the dispatcher, which would also find it by itself a few seconds
// later. Insert may run more than once for the same export.
func Insert(tx *store.Tx, e *model.Export) (Result, error) {
	if !e.Keyed {
		key, err := tx.UpsertUnkeyedBody(e.Tenant, e.SHA256, e.Key, e.ReceivedAt, e.ReceivedAt.Add(model.UnkeyedWindow))
		if err != nil {
			return Result{}, fmt.Errorf("looking for the body: %w", err)
		}
		e.Key = key
	}
	e.WorkflowID = model.WorkflowID(e.Tenant, e.Key, e.Round)
	e.CandidateID = model.CandidateKey(e.CandidateID)
	fresh, err := tx.InsertExport(e)
	if err != nil {
		return Result{}, fmt.Errorf("keeping the export: %w", err)
	}
	if fresh {
		tx.InsertDeliveries(e)
		if e.Quarantined {
			tx.CountEvent(model.ExportsQuarantined, e.Tenant, "", e.ReceivedAt)
		}
		return Result{Verdict: Accepted, Receipt: e.Receipt, ReceivedAt: e.ReceivedAt}, nil
	}
	seen, ok, err := tx.AcceptedExport(e.Tenant, e.Key)
	if err != nil {
		return Result{}, fmt.Errorf("reading the first export of that key: %w", err)
	}
	if !ok {
		// Its id was taken, not its key: two nodes drew the same one in the same microsecond.
		return Result{}, fmt.Errorf("keeping the export: %w: its id is taken", store.ErrUnavailable)
	}
	if seen.SHA256 != e.SHA256 {
		return Result{Verdict: Conflicting, ReceivedAt: seen.ReceivedAt}, nil
	}
	return Result{Verdict: Repeated, Receipt: seen.Receipt, ReceivedAt: seen.ReceivedAt}, nil
}

// Accept is Insert in a transaction of its own. When it returns without an error, what the result says is on disk.
func Accept(ctx context.Context, db *store.DB, e *model.Export) (res Result, err error) {
	if err := db.SealBody(e); err != nil { // now, so that nobody's turn to write takes longer for it
		return res, fmt.Errorf("sealing the export: %w", err)
	}
	err = db.WriteOrdered(ctx, e.Tenant+"/"+e.Key, func(tx *store.Tx) (err error) {
		res, err = Insert(tx, e)
		return err
	})
	e.Sealed = nil // it may be kept for long, until its workflow is started
	return res, err
}
