package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertDocument adds a document that an export references, unless it is there already.
func (tx *Tx) InsertDocument(d model.Document) error {
	about, err := tx.db.dataKeys.about(&d)
	if err != nil {
		return err
	}
	return tx.sql.Run(`
		INSERT INTO documents (export_id, tenant, position, source_url, state, reason, tries, next_at, blob, sha256,
		size, declared, detected, file_name, created_at, fetched_at, sealed, checksum)
		VALUES ($1, $2, $3, $4, $5, '', 0, NULL, '', NULL, 0, '', '', $7, $6, NULL, $8, $9)
		ON CONFLICT (export_id, position) DO NOTHING`,
		d.ExportID, d.Tenant, d.Position, about.SourceURL, string(model.Fetching), rows.Micros(d.CreatedAt), about.FileName,
		about.sealed, checksum(documentParts(d.ExportID, d.Position)))
}

// about is the personal part of a document's row: in columns of its own, or sealed.
type about struct {
	SourceURL []byte
	FileName  string
	sealed    []byte // in the place of the others; nil: they are not sealed
}

func aboutRow(d *model.Document) string { return fmt.Sprint(d.ExportID, "/", d.Position) }

// about seals the personal part of a document, where there is a data key.
func (k *dataKeys) about(d *model.Document) (about, error) {
	a := about{SourceURL: d.SourceURL, FileName: d.FileName}
	if a.SourceURL == nil { // no URL: the column takes no NULL
		a.SourceURL = []byte{}
	}
	if k.newest.Load() == nil {
		return a, nil
	}
	all, err := json.Marshal(a)
	if err != nil {
		return a, err
	}
	sealed, err := k.seal(addressAndName, aboutRow(d), all)
	if err != nil || sealed == nil {
		return a, err
	}
	return about{[]byte{}, "", sealed}, nil
}

// keptDocument is a document as it lies in its row.
type keptDocument struct {
	model.Document
	sealed, checksum []byte
}

func (d *keptDocument) fields() []any {
	return append(documentFields(&d.Document), &d.sealed, &d.checksum)
}

// document opens the sealed part of a document.
func (db *DB) document(ctx context.Context, kept *keptDocument) (*model.Document, error) {
	d := &kept.Document
	if err := compare(kept.checksum, documentParts(d.ExportID, d.Position)); err != nil {
		return nil, fmt.Errorf("reading document %d: %w", d.ID, err)
	}
	if kept.sealed == nil {
		return d, nil
	}
	all, err := db.openPart(ctx, addressAndName, aboutRow(d), kept.sealed)
	if err != nil {
		return nil, err
	}
	var a about
	err = json.Unmarshal(all, &a)
	d.SourceURL, d.FileName = a.SourceURL, a.FileName
	return d, err
}

// UpdateDocument writes the result of an attempt to fetch a document. It reports false when the document was final
// before: then nothing changes, and the file that was fetched for it is not needed.
func (tx *Tx) UpdateDocument(d *model.Document) (bool, error) {
	about, err := tx.db.dataKeys.about(d)
	if err != nil {
		return false, err
	}
	return tx.sql.Changed(`UPDATE documents SET state = $1, reason = $2, tries = $3, next_at = $4, blob = $5, sha256 = $6,
		size = $7, declared = $8,
		detected = $9, file_name = $10, fetched_at = $11, refusals = $12, source_url = $13, sealed = $14,
		our_fault = $15, lost_at = $16 WHERE id = $17
		AND state || '' = 'fetching'`, // keeps from the index of all that are being fetched
		string(d.State), d.Reason, d.Tries, rows.Micros(d.NextAt), d.Blob, d.SHA256, d.Size, d.Declared, d.Detected,
		about.FileName, rows.Micros(d.FetchedAt), d.Refusals,
		about.SourceURL, about.sealed, d.OurFault, rows.Micros(d.LostAt), d.ID)
}

const documentColumns = `d.id, d.export_id, d.tenant, d.position, d.source_url, d.state, d.reason, d.tries, d.next_at,
	d.blob, d.sha256, d.size,
	d.declared, d.detected, d.file_name, d.created_at, d.fetched_at, d.refusals, d.our_fault, d.lost_at,
	d.sealed, d.checksum`

func documentFields(d *model.Document) []any {
	return []any{&d.ID, &d.ExportID, &d.Tenant, &d.Position, &d.SourceURL, &d.State, &d.Reason, &d.Tries,
		rows.Time(&d.NextAt), &d.Blob, &d.SHA256, &d.Size,
		&d.Declared, &d.Detected, &d.FileName, rows.Time(&d.CreatedAt), rows.Time(&d.FetchedAt), &d.Refusals,
		&d.OurFault, rows.Time(&d.LostAt)}
}

// ListDocuments reads the documents of an export, in the order of its attachments.
func (db *DB) ListDocuments(ctx context.Context, exportID int64) ([]*model.Document, error) {
	all, err := rows.Query(ctx, db.reads, func(r row) (*keptDocument, error) {
		var d keptDocument
		return &d, r.Scan(d.fields()...)
	}, `SELECT `+documentColumns+` FROM documents d WHERE d.export_id = $1 ORDER BY d.position`, exportID)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	docs := make([]*model.Document, len(all))
	for n, kept := range all { // only now: a data key that is not known here is read on another connection
		if docs[n], err = db.document(ctx, kept); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// DocumentProgress counts the stored documents of an export.
type DocumentProgress struct {
	Fetched, GivenUp int
	NextAt           time.Time // when the first of the others is due; zero: now
}

// DocumentProgress counts the documents of exports, at most MaxPage, by export.
func (db *DB) DocumentProgress(ctx context.Context, exportIDs []int64) (map[int64]DocumentProgress, error) {
	progress := map[int64]DocumentProgress{}
	if len(exportIDs) == 0 {
		return progress, nil
	}
	in, args := oneOf(exportIDs)
	_, err := rows.Query(ctx, db.reads, func(r row) (struct{}, error) {
		var id int64
		var p DocumentProgress
		err := r.Scan(&id, &p.Fetched, &p.GivenUp, rows.Time(&p.NextAt))
		progress[id] = p
		return struct{}{}, err
	}, `SELECT export_id, sum(CASE state WHEN 'fetched' THEN 1 ELSE 0 END),
			sum(CASE state WHEN 'given_up' THEN 1 ELSE 0 END), min(CASE state WHEN 'fetching' THEN coalesce(next_at, 0) END)
		FROM documents WHERE export_id IN (`+in+`) GROUP BY export_id`, args...)
	return progress, err
}

// InsertLink adds a public URL of a document, known by its hash, until a time.
func (tx *Tx) InsertLink(hash [32]byte, documentID int64, till time.Time) error {
	return tx.sql.Run(`INSERT INTO document_links (hash, document_id, till, checksum) VALUES ($1, $2, $3, $4)`,
		hash[:], documentID, rows.Micros(till), checksum(linkParts(hash, documentID)))
}

// ExtendLinks moves the end of the public URLs of an export's documents, never to an earlier time.
func (tx *Tx) ExtendLinks(exportID int64, till time.Time) error {
	return tx.sql.Run(`UPDATE document_links SET till = $1
		WHERE document_id IN (SELECT id FROM documents WHERE export_id = $2) AND till < $1`, rows.Micros(till), exportID)
}

// LinkSource is the export that a public URL of a document was made for.
type LinkSource struct {
	Tenant string
	Hops   int
}

// LinkSource reads which export a public URL of a document was made for.
func (db *DB) LinkSource(ctx context.Context, hash [32]byte) (LinkSource, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (s LinkSource, err error) {
		return s, r.Scan(&s.Tenant, &s.Hops)
	}, `SELECT e.tenant, e.hops FROM document_links l JOIN documents d ON d.id = l.document_id
		JOIN exports e ON e.id = d.export_id
		WHERE l.hash = $1`, hash[:])
}

// DocumentByLink reads the document of a public URL, and when that URL ends. The error is ErrUnreadable when the row of
// the URL or of the document is damaged; then the document has only its ID and its tenant.
func (db *DB) DocumentByLink(ctx context.Context, hash [32]byte) (d *model.Document, till time.Time, err error) {
	var stored []byte
	kept, err := rows.QueryOne(ctx, db.reads, func(r row) (*keptDocument, error) {
		var d keptDocument
		return &d, r.Scan(append(d.fields(), rows.Time(&till), &stored)...)
	}, `SELECT `+documentColumns+`, l.till, l.checksum FROM document_links l JOIN documents d ON d.id = l.document_id
		WHERE l.hash = $1`, hash[:])
	if err != nil {
		return nil, till, err
	}
	if err = compare(stored, linkParts(hash, kept.ID)); err == nil {
		d, err = db.document(ctx, kept)
	}
	if err != nil {
		d = &model.Document{ID: kept.ID, Tenant: kept.Tenant}
	}
	return d, till, err
}
