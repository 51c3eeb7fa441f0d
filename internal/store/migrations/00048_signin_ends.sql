-- +goose Up

-- When what is granted in a session ends, counted from the sign-in; null: a former version began the session.
ALTER TABLE sessions ADD COLUMN grants_till BIGINT;

-- When a grant ends, however often its tokens are refreshed; null: 30 days after it was issued.
ALTER TABLE grants ADD COLUMN ends_at BIGINT;

-- +goose Down
ALTER TABLE grants DROP COLUMN ends_at;
ALTER TABLE sessions DROP COLUMN grants_till;
