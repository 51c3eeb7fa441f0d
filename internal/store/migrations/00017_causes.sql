-- +goose Up

-- The deliveries of which an attempt was not received, for the causes.
CREATE INDEX deliveries_troubled ON deliveries (tenant, integration, updated_at)
	WHERE (attempts > 1 OR attempts = 1 AND outcome <> 'delivered');

-- +goose Down
DROP INDEX deliveries_troubled;
