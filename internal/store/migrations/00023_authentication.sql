-- +goose Up

-- The credentials of an integration beside its signature: JSON, stored and sealed as its secret is; NULL: there are none.
ALTER TABLE integrations ADD COLUMN authentication $BYTES;

-- +goose Down
ALTER TABLE integrations DROP COLUMN authentication;
