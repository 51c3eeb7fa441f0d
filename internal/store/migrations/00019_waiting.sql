-- +goose Up

-- Work that one node at a time does for all.
CREATE TABLE leases (
	name            $KEY PRIMARY KEY,
	owner           $KEY NOT NULL,      -- at random for each process; empty where only one can use the database
	till            BIGINT NOT NULL
);

-- What waited for each integration when it was counted last: read where so much waits that counting takes a while.
CREATE TABLE waiting (
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,      -- empty: all that the tenant has when Temporal gets it
	deliveries      BIGINT NOT NULL,
	held            BIGINT NOT NULL,    -- of these
	oldest          BIGINT NOT NULL,    -- since when
	ends            BIGINT,             -- when the first of them is given up; null: never
	PRIMARY KEY (tenant, integration)
);

-- +goose Down
DROP TABLE waiting;
DROP TABLE leases;
