-- +goose Up

-- What exports hold is sealed with these, where there is something to seal them with in their turn.
CREATE TABLE data_keys (
	id              $KEY PRIMARY KEY,   -- at random: two nodes may make one at once
	sealed          $BYTES NOT NULL,    -- the key, sealed with what is not in the database
	created_at      BIGINT NOT NULL
);

-- What is sealed of a row, in the place of its columns of that; null: they have it.
ALTER TABLE documents ADD COLUMN sealed $BYTES; -- source_url and file_name
ALTER TABLE attempts ADD COLUMN sealed $BYTES;  -- answer

-- +goose Down
ALTER TABLE attempts DROP COLUMN sealed;
ALTER TABLE documents DROP COLUMN sealed;
DROP TABLE data_keys;
