-- +goose Up

-- Each of the statements about exports that wait for their workflow fits one index only, by how it is written: with old
-- statistics PostgreSQL takes each of these for small, and walks any. See stillUndispatched.
DROP INDEX exports_undispatched;
CREATE INDEX exports_undispatched_of_all ON exports (id) WHERE coalesce(dispatched_at, 0) = 0 AND fault = '';
DROP INDEX exports_undispatched_in_group;
CREATE INDEX exports_undispatched_in_group ON exports (group_id) WHERE group_id IS NOT NULL AND dispatched_at IS NULL;

-- +goose Down
DROP INDEX exports_undispatched_in_group;
CREATE INDEX exports_undispatched_in_group ON exports (group_id) WHERE group_id IS NOT NULL AND dispatched_at IS NULL AND fault = '';
DROP INDEX exports_undispatched_of_all;
CREATE INDEX exports_undispatched ON exports (dispatch_after) WHERE dispatched_at IS NULL AND fault = '';
