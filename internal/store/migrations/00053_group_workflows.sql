-- +goose Up

-- The workflow of the group that carries round 0 of an export in a later round; empty: none does, or it is exports/<group_id>.
ALTER TABLE exports ADD COLUMN group_workflow $KEY NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE exports DROP COLUMN group_workflow;
