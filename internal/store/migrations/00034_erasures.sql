-- +goose Up

-- How many entries of a list of erasures, a file beside the database, were carried out in it. A backup has those of its time.
CREATE TABLE erasure_lists (
	list            $KEY PRIMARY KEY,
	position        BIGINT NOT NULL
);

-- +goose Down
DROP TABLE erasure_lists;
