-- +goose Up

-- Causes that somebody knows of: their needs are not counted until a time.
CREATE TABLE acknowledgements (
	tenant  $KEY NOT NULL, -- whose people see it acknowledged; empty: those of all tenants
	cause   $KEY NOT NULL,
	actor   TEXT NOT NULL,
	name    TEXT NOT NULL,
	email   TEXT NOT NULL,
	claimed BOOLEAN NOT NULL,
	note    TEXT NOT NULL,
	at      BIGINT NOT NULL,
	till    BIGINT NOT NULL,
	PRIMARY KEY (tenant, cause)
);

-- +goose Down
DROP TABLE acknowledgements;
