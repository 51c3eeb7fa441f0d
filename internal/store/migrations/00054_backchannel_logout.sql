-- +goose Up

-- Where an application is told that a session of its user has ended; empty: it is not.
ALTER TABLE oauth_clients ADD COLUMN backchannel_logout_uri TEXT NOT NULL DEFAULT '';

-- What applications know a session by (claim sid): it outlives a further sign-in of the same person in the same browser.
-- Empty: a former version began it; of a grant also: its application was told that the session has ended.
ALTER TABLE sessions ADD COLUMN sid $KEY NOT NULL DEFAULT '';
ALTER TABLE grants ADD COLUMN sid $KEY NOT NULL DEFAULT '';
CREATE INDEX grants_by_sid ON grants (sid) WHERE sid <> '';

-- The application that is told of the end of a session; its issuer is the subscriber. Empty: it is a notification.
ALTER TABLE notifications ADD COLUMN client $KEY NOT NULL DEFAULT '';
CREATE INDEX notifications_of_clients ON notifications (client, next_at) WHERE client <> '';

-- +goose Down
DROP INDEX notifications_of_clients;
ALTER TABLE notifications DROP COLUMN client;
DROP INDEX grants_by_sid;
ALTER TABLE grants DROP COLUMN sid;
ALTER TABLE sessions DROP COLUMN sid;
ALTER TABLE oauth_clients DROP COLUMN backchannel_logout_uri;
