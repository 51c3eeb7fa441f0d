-- +goose Up

-- When an API key ends, and who made it; keys of before have neither.
ALTER TABLE api_keys ADD COLUMN expires_at BIGINT;
ALTER TABLE api_keys ADD COLUMN actor TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN email TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN claimed BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX api_keys_expiring ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

-- +goose Down
DROP INDEX api_keys_expiring;
ALTER TABLE api_keys DROP COLUMN claimed;
ALTER TABLE api_keys DROP COLUMN email;
ALTER TABLE api_keys DROP COLUMN name;
ALTER TABLE api_keys DROP COLUMN actor;
ALTER TABLE api_keys DROP COLUMN expires_at;
