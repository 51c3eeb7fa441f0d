-- +goose Up
ALTER TABLE exports ADD COLUMN erased_at BIGINT; -- when what it held of its candidate was removed; null: it is there

-- A file may be the document of several exports, and of a job application: it goes with the last of them.
CREATE INDEX documents_by_blob ON documents (blob) WHERE blob <> '';
CREATE INDEX application_documents_by_blob ON application_documents (blob);

-- +goose Down
DROP INDEX application_documents_by_blob;
DROP INDEX documents_by_blob;
ALTER TABLE exports DROP COLUMN erased_at;
