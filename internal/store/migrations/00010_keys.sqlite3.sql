-- +goose Up

-- In the place of a unique index, see keys.go.
CREATE TABLE export_keys (
	tenant          $KEY NOT NULL,
	key             $KEY NOT NULL,
	export_id       BIGINT NOT NULL,
	PRIMARY KEY (tenant, key)
) WITHOUT ROWID;
INSERT INTO export_keys SELECT tenant, key, id FROM exports ORDER BY tenant, key;
DROP INDEX exports_by_key;

-- One row: exports up to this id are all in export_keys.
CREATE TABLE export_keys_settled (
	till            BIGINT NOT NULL
);
INSERT INTO export_keys_settled SELECT coalesce(max(id), 0) FROM exports;

-- +goose Down
DROP TABLE export_keys_settled;
CREATE UNIQUE INDEX exports_by_key ON exports (tenant, key);
DROP TABLE export_keys;
