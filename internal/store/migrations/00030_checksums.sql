-- +goose Up

-- Of what is sent and of where it goes, compared before it is; NULL: the row is older than this column. See checksum.go.
ALTER TABLE export_bodies ADD COLUMN checksum $BYTES;
ALTER TABLE outgoing_bodies ADD COLUMN checksum $BYTES;
ALTER TABLE documents ADD COLUMN checksum $BYTES;
ALTER TABLE document_links ADD COLUMN checksum $BYTES;
ALTER TABLE integrations ADD COLUMN checksum $BYTES;

-- +goose Down
ALTER TABLE integrations DROP COLUMN checksum;
ALTER TABLE document_links DROP COLUMN checksum;
ALTER TABLE documents DROP COLUMN checksum;
ALTER TABLE outgoing_bodies DROP COLUMN checksum;
ALTER TABLE export_bodies DROP COLUMN checksum;
