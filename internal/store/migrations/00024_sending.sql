-- +goose Up

-- Whether an integration is sent the header traceparent, and how many attempts it takes a second and at once; NULL: any.
ALTER TABLE integrations ADD COLUMN traceparent BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE integrations ADD COLUMN rate DOUBLE PRECISION;
ALTER TABLE integrations ADD COLUMN burst INTEGER;

-- +goose Down
ALTER TABLE integrations DROP COLUMN burst;
ALTER TABLE integrations DROP COLUMN rate;
ALTER TABLE integrations DROP COLUMN traceparent;
