-- +goose Up

-- When each inbound secret of a tenant was last used, by what only who knows the secret can make of it.
CREATE TABLE secret_uses (
	tenant          $KEY NOT NULL,
	fingerprint     $BYTES NOT NULL,
	last_used_at    BIGINT NOT NULL,
	PRIMARY KEY (tenant, fingerprint)
);

-- How many requests for a tenant were signed with none of its secrets.
CREATE TABLE refused_signatures (
	tenant          $KEY PRIMARY KEY,
	count           BIGINT NOT NULL,
	last_at         BIGINT NOT NULL
);

-- +goose Down
DROP TABLE refused_signatures;
DROP TABLE secret_uses;
