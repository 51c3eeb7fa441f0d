-- +goose Up

-- Names of files are about to be indexed; on SQLite text is compared by its bytes as it is.
ALTER TABLE documents ALTER COLUMN blob TYPE $KEY;
ALTER TABLE application_documents ALTER COLUMN blob TYPE $KEY;

-- +goose Down
ALTER TABLE application_documents ALTER COLUMN blob TYPE TEXT COLLATE "default";
ALTER TABLE documents ALTER COLUMN blob TYPE TEXT COLLATE "default";
