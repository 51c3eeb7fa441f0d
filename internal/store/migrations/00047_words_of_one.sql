-- +goose Up

-- Whether a candidate has a second word is looked up by who they are, in the index alone: else SQLite reads all rows that have that
-- word, again for each of the first one.
DROP INDEX search_words_by_id;
CREATE INDEX search_words_by_id ON search_words (tenant, id, kind, word);

-- +goose Down
DROP INDEX search_words_by_id;
CREATE INDEX search_words_by_id ON search_words (tenant, id, kind);
