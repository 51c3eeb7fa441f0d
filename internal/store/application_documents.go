package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// InsertApplicationDocument adds a document to a job application. It reports false when that has one of this id
// already.
func (tx *Tx) InsertApplicationDocument(d *model.ApplicationDocument) (bool, error) {
	n, err := tx.db.dataKeys.names(d)
	if err != nil {
		return false, err
	}
	tx.applicationChanged(d.Tenant, d.Application, d.CreatedAt)
	tx.change(d.Tenant, model.ApplicationChanged, d.Application, d.CreatedAt)
	return tx.sql.Changed(`
		INSERT INTO application_documents (key, tenant, application, id, descriptions, file_name, media_type, blob,
		sha256, size, created_at, scan, scan_at, sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $11, $13) ON CONFLICT DO NOTHING`,
		d.Key, d.Tenant, d.Application, d.ID, rows.JSON(n.Descriptions), n.FileName, d.MediaType, d.Blob, d.SHA256,
		d.Size, rows.Micros(d.CreatedAt), string(d.Scan), n.sealed)
}

// documentNames are the personal part of a document's row: in columns of its own, or sealed.
type documentNames struct {
	FileName     string
	Descriptions []string
	sealed       []byte // in the place of the others; nil: they are not sealed
}

func namesRow(d *model.ApplicationDocument) string { return personRow(d.Tenant, d.Application, d.ID) }

// names seals the personal part of a document, where there is a search key.
func (k *dataKeys) names(d *model.ApplicationDocument) (documentNames, error) {
	n := documentNames{FileName: d.FileName, Descriptions: d.Descriptions}
	all, err := json.Marshal(n)
	if err != nil {
		return n, err
	}
	sealed, err := k.sealPerson(documentsNames, namesRow(d), all)
	if err != nil || sealed == nil {
		return n, err
	}
	return documentNames{Descriptions: []string{}, sealed: sealed}, nil
}

// DeleteApplicationDocument deletes a document of a job application. Its file is left to the sweep, unless an export
// still offers it.
func (tx *Tx) DeleteApplicationDocument(tenant, application, id string, now time.Time) (bool, error) {
	err := tx.sql.Run(`UPDATE documents SET state = $1, reason = $2, blob = '' WHERE state = 'scanning' AND scan_of =
		(SELECT key FROM application_documents WHERE tenant = $3 AND application = $4 AND id = $5
		AND scan || '' = 'pending')`, // keeps from the index of all that are being scanned
		string(model.GivenUp), deletedReason, tenant, application, id)
	if err != nil {
		return false, err
	}
	var blob string
	deleted, err := tx.sql.Scan([]any{&blob}, `DELETE FROM application_documents WHERE tenant = $1 AND application = $2
		AND id = $3 RETURNING blob`, tenant, application, id)
	if err != nil || !deleted {
		return false, err
	}
	tx.applicationChanged(tenant, application, now)
	tx.change(tenant, model.ApplicationChanged, application, now)
	// Only now: the deletion waited for those on other nodes who were putting the document into an export.
	return true, tx.releaseFile(blob, now)
}

// keptApplicationDocument is a document as it lies in its row.
type keptApplicationDocument struct {
	model.ApplicationDocument
	sealed []byte
}

var applicationDocuments = rows.Table[keptApplicationDocument]{
	Name: "application_documents",
	Columns: `key, tenant, application, id, descriptions, file_name, media_type, blob, sha256, size, created_at, scan,
		finding, sealed`,
	Fields: func(d *keptApplicationDocument) []any {
		return []any{&d.Key, &d.Tenant, &d.Application, &d.ID, rows.JSON(&d.Descriptions), &d.FileName, &d.MediaType,
			&d.Blob, &d.SHA256, &d.Size,
			rows.Time(&d.CreatedAt), &d.Scan, &d.Finding, &d.sealed}
	},
}

// openNames opens the sealed parts of documents.
func openNames(open opening, all []*keptApplicationDocument, err error) ([]*model.ApplicationDocument, error) {
	if err != nil {
		return nil, err
	}
	opened := make([]*model.ApplicationDocument, len(all))
	for n, kept := range all {
		d := &kept.ApplicationDocument
		opened[n] = d
		if kept.sealed == nil {
			continue
		}
		raw, err := open(documentsNames, namesRow(d), kept.sealed)
		if err != nil {
			return nil, err
		}
		var names documentNames
		if err := json.Unmarshal(raw, &names); err != nil {
			return nil, err
		}
		d.FileName, d.Descriptions = names.FileName, names.Descriptions
	}
	return opened, nil
}

// applicationDocument reads a document; ErrNotFound when there is none.
func (db *DB) applicationDocument(ctx context.Context, where string, args ...any) (*model.ApplicationDocument, error) {
	kept, err := applicationDocuments.Get(ctx, db.reads, where, args...)
	d, _, err := rows.First(openNames(db.opening(ctx), []*keptApplicationDocument{kept}, err))
	return d, err
}

// ListApplicationDocuments reads the documents of a job application within a transaction, in the order they were added,
// at most limit.
func (tx *Tx) ListApplicationDocuments(tenant, application string, limit int) ([]*model.ApplicationDocument, error) {
	return tx.applicationDocuments("", tenant, application, limit)
}

func (tx *Tx) applicationDocuments(hold, tenant, application string, limit int) ([]*model.ApplicationDocument, error) {
	all, err := rows.QueryTx(tx.sql, applicationDocuments.Scan, applicationDocuments.Select(`tenant = $1
		AND application = $2 ORDER BY key LIMIT $3`)+hold, tenant, application, limit)
	return openNames(tx.openPart, all, err)
}

// ApplicationDocument reads a document of a job application; ErrNotFound when there is none.
func (db *DB) ApplicationDocument(ctx context.Context, tenant, application,
	id string) (*model.ApplicationDocument, error) {
	return db.applicationDocument(ctx, `tenant = $1 AND application = $2 AND id = $3`, tenant, application, id)
}

// ListApplicationDocuments lists the documents of a job application in the order they were added. after is the cursor:
// the key of a document, 0 for the first page; next is that of the following page, 0 on the last one.
func (db *DB) ListApplicationDocuments(ctx context.Context, tenant, application string, after int64,
	limit int) ([]*model.ApplicationDocument, int64, error) {
	all, next, err := rows.QueryPage(ctx, db.reads, applicationDocuments.Scan,
		func(d *keptApplicationDocument) int64 { return d.Key }, Page{Limit: limit}.Size(),
		applicationDocuments.Select(`tenant = $1 AND application = $2 AND key > $3
			ORDER BY key`), tenant, application, after)
	page, err := openNames(db.opening(ctx), all, err)
	return page, next, err
}

// InsertOfferedDocument makes a document of a job application the document at a position of an export that was
// triggered here, under a public URL that is known by its hash and ends with the export's documents.
func (tx *Tx) InsertOfferedDocument(d *model.ApplicationDocument, e *model.Export, position int, hash [32]byte) error {
	state, reason, err := tx.offeredState(d)
	if err != nil {
		return err
	}
	about, err := tx.db.dataKeys.about(&model.Document{ExportID: e.ID, Position: position, SourceURL: []byte{},
		FileName: d.FileName})
	if err != nil {
		return err
	}
	var id int64
	_, err = tx.sql.Scan([]any{&id}, `
		INSERT INTO documents (export_id, tenant, position, source_url, state, reason, tries, next_at, blob, sha256,
		size, declared, detected, file_name, created_at, fetched_at, scan_of, sealed, checksum)
		VALUES ($1, $2, $3, $4, $5, $12, 0, NULL, $6, $7, $8, $9, $9, $10, $11, $11, $13, $14, $15) RETURNING id`,
		e.ID, e.Tenant, position, about.SourceURL, string(state), d.Blob, d.SHA256, d.Size, d.MediaType, about.FileName,
		rows.Micros(e.ReceivedAt), reason, d.Key, about.sealed, checksum(documentParts(e.ID, position)))
	if err != nil {
		return err
	}
	return tx.InsertLink(hash, id, e.DocumentsTill)
}
