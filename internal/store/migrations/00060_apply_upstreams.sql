-- +goose Up

-- The service that a tenant's applications are relayed to: JSON with its password, stored and sealed as secrets are; NULL:
-- they are taken here.
ALTER TABLE tenants ADD COLUMN apply_upstream $BYTES;

-- +goose Down
ALTER TABLE tenants DROP COLUMN apply_upstream;
