-- +goose Up

-- Who changed what through the management API, and who read the body of an export. Ids only.
CREATE TABLE audit (
	id              $ID,
	at              BIGINT NOT NULL,
	actor           TEXT NOT NULL,      -- the id of an API key, or admin endpoint
	action          $KEY NOT NULL,
	tenant          $KEY NOT NULL,      -- empty: what was changed belongs to none
	object          $KEY NOT NULL       -- kind and id, such as exports/u-1
);
CREATE INDEX audit_by_time ON audit (at, id);
CREATE INDEX audit_by_tenant ON audit (tenant, at, id);
CREATE INDEX audit_by_object ON audit (object, at, id);
CREATE INDEX audit_by_action ON audit (action, at, id);

-- +goose Down
DROP TABLE audit;
