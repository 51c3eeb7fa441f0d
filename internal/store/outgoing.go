package store

import (
	"context"
	"fmt"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// KeptBody is a body as it is stored: after a byte that names its encoding.
type KeptBody []byte

// NewKeptBody makes an empty body to write to, with room for size bytes.
func NewKeptBody(size int) *KeptBody {
	k := append(make(KeptBody, 0, size+1), plainBody)
	return &k
}

// Write implements io.Writer.
func (k *KeptBody) Write(p []byte) (int, error) {
	*k = append(*k, p...)
	return len(p), nil
}

// Bytes returns the body that was written. It shares memory with the KeptBody.
func (k *KeptBody) Bytes() []byte { return (*k)[1:] }

// SealOutgoing seals the body of an export as it goes out in a document mode, which may be large, before it is put.
// Without a data key it stays as it is.
func (db *DB) SealOutgoing(exportID int64, mode model.DocumentMode, body *KeptBody) (*KeptBody, error) {
	sealed, err := db.dataKeys.seal(outgoingBody, outgoingRow(exportID, mode), *body)
	if err != nil || sealed == nil {
		return body, err
	}
	return (*KeptBody)(&sealed), nil
}

// InsertOutgoing inserts the body of an export as it goes out in a document mode, as SealOutgoing gives it. It reports
// false, and changes nothing, when there is one already. The error is ErrErased when the export's content was erased
// meanwhile.
func (tx *Tx) InsertOutgoing(exportID int64, mode model.DocumentMode, body *KeptBody) (bool, error) {
	if err := tx.lockContent(exportID); err != nil {
		return false, err
	}
	return tx.sql.Changed(`INSERT INTO outgoing_bodies (export_id, documents, body, checksum) VALUES ($1, $2, $3, $4)
		ON CONFLICT (export_id, documents) DO NOTHING`,
		exportID, string(mode), []byte(*body), checksum(outgoingParts(exportID, mode, *body)))
}

func outgoingRow(exportID int64, mode model.DocumentMode) string {
	return fmt.Sprint(exportID, "/", mode)
}

// Outgoing reads the body of an export as it goes out in a document mode; ErrNotFound when it was not made yet, and
// ErrUnreadable when it is damaged.
func (db *DB) Outgoing(ctx context.Context, exportID int64, mode model.DocumentMode) ([]byte, error) {
	var stored []byte
	kept, err := rows.QueryOne(ctx, db.reads, func(r row) (kept []byte, err error) {
		err = r.Scan(&kept, &stored)
		return kept, err
	}, `SELECT body, checksum FROM outgoing_bodies WHERE export_id = $1 AND documents = $2`, exportID, string(mode))
	if err == nil {
		err = compare(stored, outgoingParts(exportID, mode, kept))
	}
	if err != nil {
		return nil, err
	}
	if kept, err = db.openPart(ctx, outgoingBody, outgoingRow(exportID, mode), kept); err != nil {
		return nil, err
	}
	return unwrapBody(kept)
}
