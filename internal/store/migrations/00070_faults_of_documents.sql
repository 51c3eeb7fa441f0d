-- +goose Up

-- Whether the last try of a document failed on our side: we could not store it, egress refused its address, or its URL ended
-- before we tried. Otherwise it is its service's fault.
ALTER TABLE documents ADD COLUMN our_fault BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE documents SET our_fault = TRUE WHERE state = 'given_up' AND (reason LIKE '%could not be stored%'
	OR reason LIKE '%egress refuses%' OR reason LIKE '%before the gateway could fetch it%');

-- When it was given up, after its tries; of what was lost before this release, when its download began.
ALTER TABLE documents ADD COLUMN lost_at BIGINT;
UPDATE documents SET lost_at = created_at WHERE state = 'given_up';

CREATE INDEX documents_fetching_of_tenant ON documents (tenant, export_id) WHERE state = 'fetching';

-- +goose Down
DROP INDEX documents_fetching_of_tenant;
ALTER TABLE documents DROP COLUMN lost_at;
ALTER TABLE documents DROP COLUMN our_fault;
