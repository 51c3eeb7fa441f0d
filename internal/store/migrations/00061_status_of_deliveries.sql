-- +goose Up

-- The HTTP status of the last attempt; 0: no answer came, or none was made. Releases from before this one don't write it.
ALTER TABLE deliveries ADD COLUMN status INTEGER NOT NULL DEFAULT 0;
UPDATE deliveries SET status = coalesce((SELECT a.status FROM attempts a
	WHERE a.delivery_id = deliveries.id AND a.number = deliveries.attempts), 0)
	WHERE fault <> '';

-- The deliveries whose last attempt had a fault, by the class of its status and in the order of lists.
CREATE INDEX deliveries_at_status ON deliveries ((status / 100), export_id, status, attempts) WHERE fault <> '';
CREATE INDEX deliveries_at_status_of_tenant ON deliveries (tenant, (status / 100), export_id, status, attempts) WHERE fault <> '';

-- The documents that were tried in vain, and are tried again.
CREATE INDEX documents_late ON documents (export_id) WHERE state = 'fetching' AND tries > 0;
CREATE INDEX documents_late_of_tenant ON documents (tenant, export_id) WHERE state = 'fetching' AND tries > 0;

-- +goose Down
DROP INDEX documents_late_of_tenant;
DROP INDEX documents_late;
DROP INDEX deliveries_at_status_of_tenant;
DROP INDEX deliveries_at_status;
ALTER TABLE deliveries DROP COLUMN status;
