-- +goose Up

-- What an integration refused lately for its data, as the JSON of hiring.Refusals; empty: nothing.
ALTER TABLE integration_health ADD COLUMN refusals TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE integration_health DROP COLUMN refusals;
