-- +goose Up
ALTER TABLE exports ADD COLUMN quarantined BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE exports ADD COLUMN findings $BYTES; -- a JSON array: how the body breaks the schema; null: it does not
CREATE INDEX exports_quarantined ON exports (tenant, id) WHERE quarantined;

-- The body as it goes out, made once for each document mode that changes it.
CREATE TABLE outgoing_bodies (
	export_id       BIGINT NOT NULL REFERENCES exports (id),
	documents       TEXT NOT NULL,      -- the mode
	body            $BYTES NOT NULL,
	PRIMARY KEY (export_id, documents)
);
INSERT INTO outgoing_bodies (export_id, documents, body) SELECT export_id, 'rehost', body FROM rehosted_bodies;
DROP TABLE rehosted_bodies;

-- +goose Down
CREATE TABLE rehosted_bodies (
	export_id       $ROWID REFERENCES exports (id),
	body            $BYTES NOT NULL
);
INSERT INTO rehosted_bodies (export_id, body) SELECT export_id, body FROM outgoing_bodies WHERE documents = 'rehost';
DROP TABLE outgoing_bodies;
DROP INDEX exports_quarantined;
ALTER TABLE exports DROP COLUMN findings;
ALTER TABLE exports DROP COLUMN quarantined;
