-- +goose Up

-- The text of each compliance group of a service, as it said last.
CREATE TABLE upstream_notices (
	tenant      $KEY NOT NULL,
	about       $KEY NOT NULL, -- the group
	notice      $BYTES, -- NULL: the service has none
	read_at     BIGINT NOT NULL,
	PRIMARY KEY (tenant, about)
);

-- Delivered ones are the many: what waits for the service or for a person is counted without them.
CREATE INDEX submissions_undelivered ON submissions (tenant, state, received_at) WHERE erased_at IS NULL AND state <> 'delivered';

-- +goose Down
DROP INDEX submissions_undelivered;
DROP TABLE upstream_notices;
