-- +goose Up

-- What is still to be fetched is counted every ten seconds.
CREATE INDEX documents_fetching ON documents (export_id) WHERE state = 'fetching';

-- +goose Down
DROP INDEX documents_fetching;
