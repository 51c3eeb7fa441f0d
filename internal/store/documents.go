package store

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/hiring"
)

// InsertDocument adds a document that an export references, unless it is there already.
func (tx *Tx) InsertDocument(d hiring.Document) error {
	_, err := tx.exec(`
		INSERT INTO documents (export_id, tenant, position, source_url, state, reason, tries, next_at, blob, sha256, size, declared, detected, file_name, created_at, fetched_at)
		VALUES ($1, $2, $3, $4, $5, '', 0, NULL, '', NULL, 0, '', '', '', $6, NULL) ON CONFLICT (export_id, position) DO NOTHING`,
		d.ExportID, d.Tenant, d.Position, d.SourceURL, string(hiring.Fetching), micros(d.CreatedAt))
	return err
}

// UpdateDocument writes what became of the fetching of a document. It reports false when the document was final before:
// then nothing changes, and a blob that was fetched for it is not wanted.
func (tx *Tx) UpdateDocument(d *hiring.Document) (bool, error) {
	n, err := tx.exec(`UPDATE documents SET state = $1, reason = $2, tries = $3, next_at = $4, blob = $5, sha256 = $6, size = $7, declared = $8,
		detected = $9, file_name = $10, fetched_at = $11, refusals = $12 WHERE id = $13 AND state = 'fetching'`,
		string(d.State), d.Reason, d.Tries, micros(d.NextAt), d.Blob, d.SHA256, d.Size, d.Declared, d.Detected, d.FileName, micros(d.FetchedAt), d.Refusals, d.ID)
	return n == 1, err
}

const documentColumns = `d.id, d.export_id, d.tenant, d.position, d.source_url, d.state, d.reason, d.tries, d.next_at, d.blob, d.sha256, d.size,
	d.declared, d.detected, d.file_name, d.created_at, d.fetched_at, d.refusals`

func documentFields(d *hiring.Document) []any {
	return []any{&d.ID, &d.ExportID, &d.Tenant, &d.Position, &d.SourceURL, &d.State, &d.Reason, &d.Tries, moment{&d.NextAt}, &d.Blob, &d.SHA256, &d.Size,
		&d.Declared, &d.Detected, &d.FileName, moment{&d.CreatedAt}, moment{&d.FetchedAt}, &d.Refusals}
}

// Documents reads the documents of an export, in the order of its attachments.
func (db *DB) Documents(ctx context.Context, exportID int64) ([]*hiring.Document, error) {
	return query(ctx, db, func(r row) (*hiring.Document, error) {
		var d hiring.Document
		return &d, r.Scan(documentFields(&d)...)
	}, `SELECT `+documentColumns+` FROM documents d WHERE d.export_id = $1 ORDER BY d.position`, exportID)
}

// InsertLink adds a public URL of a document, known by its hash, until a time.
func (tx *Tx) InsertLink(hash [32]byte, documentID int64, till time.Time) error {
	_, err := tx.exec(`INSERT INTO document_links (hash, document_id, till) VALUES ($1, $2, $3)`, hash[:], documentID, micros(till))
	return err
}

// ExtendLinks moves the end of the public URLs of an export's documents, never to an earlier time.
func (tx *Tx) ExtendLinks(exportID int64, till time.Time) error {
	_, err := tx.exec(`UPDATE document_links SET till = $1
		WHERE document_id IN (SELECT id FROM documents WHERE export_id = $2) AND till < $1`, micros(till), exportID)
	return err
}

// DocumentByLink reads the document behind a public URL, and when that URL ends.
func (db *DB) DocumentByLink(ctx context.Context, hash [32]byte) (d *hiring.Document, till time.Time, err error) {
	d, err = queryOne(ctx, db, func(r row) (*hiring.Document, error) {
		var d hiring.Document
		return &d, r.Scan(append(documentFields(&d), moment{&till})...)
	}, `SELECT `+documentColumns+`, l.till FROM document_links l JOIN documents d ON d.id = l.document_id WHERE l.hash = $1`, hash[:])
	return d, till, err
}
