-- +goose Up

-- Words that candidates and jobs are found by. Those of candidates are keyed hashes where there is a seal_key.
CREATE TABLE search_words (
	tenant          $KEY NOT NULL,
	kind            $KEY NOT NULL,
	word            $KEY NOT NULL,
	id              $KEY NOT NULL,
	PRIMARY KEY (tenant, kind, word, id)
);
CREATE INDEX search_words_by_id ON search_words (tenant, id, kind);

-- A release from before this one writes candidates and jobs without words.
ALTER TABLE candidates ADD COLUMN worded BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX candidates_unworded ON candidates (tenant, id) WHERE NOT worded;
ALTER TABLE jobs ADD COLUMN worded BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX jobs_unworded ON jobs (tenant, id) WHERE NOT worded;

-- +goose Down
DROP INDEX jobs_unworded;
ALTER TABLE jobs DROP COLUMN worded;
DROP INDEX candidates_unworded;
ALTER TABLE candidates DROP COLUMN worded;
DROP TABLE search_words;
