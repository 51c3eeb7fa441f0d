-- +goose Up

-- A user name belongs to one user of a tenant: whoever names another tenant's must not learn that it is there.
DROP INDEX api_users_by_name;
CREATE UNIQUE INDEX api_users_by_name ON api_users (folded, tenant);

-- +goose Down
DROP INDEX api_users_by_name;
CREATE UNIQUE INDEX api_users_by_name ON api_users (folded);
