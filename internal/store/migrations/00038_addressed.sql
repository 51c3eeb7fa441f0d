-- +goose Up

-- A delivery exists from acceptance. What was accepted before gets those that it lacks: the names of the integrations of
-- its round are split at the spaces between them. What waits to be started for all that its tenant has gets each with its
-- first attempt, as before.
WITH RECURSIVE split (id, name, rest) AS (
	SELECT id, CAST('' AS TEXT), CAST(integrations AS TEXT) FROM exports WHERE unsettled AND fault = '' AND erased_at IS NULL
	UNION ALL
	SELECT id, substr(rest, 1, length(rest) - length(ltrim(rest, replace(rest, ' ', '')))),
		substr(ltrim(rest, replace(rest, ' ', '')), 2) FROM split WHERE rest <> ''
)
INSERT INTO deliveries (export_id, tenant, integration, round, outcome, fault, reason, attempts, parked, created_at, updated_at)
SELECT e.id, e.tenant, s.name, e.round, 'pending', '', '', 0, FALSE, coalesce(e.dispatched_at, e.received_at),
	coalesce(e.dispatched_at, e.received_at)
FROM split s JOIN exports e ON e.id = s.id WHERE s.name <> ''
ON CONFLICT (export_id, integration, round) DO NOTHING;

-- +goose Down
