-- +goose Up

-- Exports of tenants without an integration have a delivery that has failed, to the integration of no name, instead of a
-- fault.
INSERT INTO deliveries (export_id, tenant, integration, round, outcome, fault, reason, attempts, parked, created_at, updated_at)
SELECT id, tenant, '', round, 'failed', 'our_fault', fault, 0, FALSE, received_at, received_at FROM exports
WHERE fault <> '' AND fault LIKE 'it was not delivered, because its tenant had no integration when it came%' AND integrations = ''
ON CONFLICT (export_id, integration, round) DO NOTHING;

UPDATE exports SET fault = '' WHERE fault <> '' AND integrations = ''
	AND fault LIKE 'it was not delivered, because its tenant had no integration when it came%';

CREATE INDEX deliveries_to_nobody ON deliveries (tenant, export_id) WHERE integration = '';

-- +goose Down
DROP INDEX deliveries_to_nobody;
