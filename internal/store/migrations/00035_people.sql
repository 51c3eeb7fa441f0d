-- +goose Up

-- What names a document, sealed; NULL: it stands in descriptions and file_name, and without seal_key it does.
ALTER TABLE application_documents ADD COLUMN sealed $BYTES;

-- +goose Down
ALTER TABLE application_documents DROP COLUMN sealed;
