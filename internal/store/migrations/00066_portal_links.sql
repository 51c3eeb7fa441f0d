-- +goose Up

-- Links with which clients look at their exports. The link itself is not stored; one without a row is valid, too: a
-- gateway of an earlier version made it.
CREATE TABLE portal_links (
	tenant     $KEY NOT NULL,
	id         $KEY NOT NULL,
	label      TEXT NOT NULL, -- who has it, for people
	bodies     BOOLEAN NOT NULL,
	actor      TEXT NOT NULL, -- who made it
	name       TEXT NOT NULL,
	email      TEXT NOT NULL,
	claimed    BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	opened_at  BIGINT,        -- the last time
	revoked_at BIGINT,
	PRIMARY KEY (tenant, id)
);
CREATE INDEX portal_links_expired ON portal_links (expires_at);

-- +goose Down
DROP TABLE portal_links;
