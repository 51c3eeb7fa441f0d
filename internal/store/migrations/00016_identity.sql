-- +goose Up

-- The id of this database, which its gateways mark their namespace of Temporal with. A backup has it as well.
CREATE TABLE identity (
	one             BIGINT PRIMARY KEY CHECK (one = 1),
	id              TEXT NOT NULL
);

-- +goose Down
DROP TABLE identity;
