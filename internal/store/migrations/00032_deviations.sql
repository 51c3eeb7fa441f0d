-- +goose Up

-- What becomes of a tenant's exports with a listed deviation from the contract; empty: they are accepted.
ALTER TABLE tenants ADD COLUMN deviations TEXT NOT NULL DEFAULT '';

-- What is remarkable about the exports that come for a tenant, counted: deviations that were accepted, and refusals of
-- exports that were signed right.
CREATE TABLE remarks (
	tenant          $KEY NOT NULL,
	kind            $KEY NOT NULL,
	name            $KEY NOT NULL,      -- of the deviation, or the result of the refusal
	count           BIGINT NOT NULL,    -- since first_at
	first_at        BIGINT NOT NULL,
	last_at         BIGINT NOT NULL,
	rule            TEXT NOT NULL,      -- of the last one
	pointer         TEXT NOT NULL,      -- of the last one, into its body
	PRIMARY KEY (tenant, kind, name)
);

-- +goose Down
DROP TABLE remarks;
ALTER TABLE tenants DROP COLUMN deviations;
