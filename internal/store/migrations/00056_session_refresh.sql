-- +goose Up

-- A session that began at another provider is refreshed there: who ended there, ends here.
ALTER TABLE console_sessions ADD COLUMN refresh $BYTES;                       -- the refresh token there, sealed; null: none
ALTER TABLE console_sessions ADD COLUMN refresh_at BIGINT;                    -- from when it is used
ALTER TABLE console_sessions ADD COLUMN confirmed_till BIGINT;                -- until when the provider has confirmed the session
ALTER TABLE console_sessions ADD COLUMN locked_till BIGINT NOT NULL DEFAULT 0;   -- until when nobody else uses it, since somebody does

-- +goose Down
ALTER TABLE console_sessions DROP COLUMN locked_till;
ALTER TABLE console_sessions DROP COLUMN confirmed_till;
ALTER TABLE console_sessions DROP COLUMN refresh_at;
ALTER TABLE console_sessions DROP COLUMN refresh;
