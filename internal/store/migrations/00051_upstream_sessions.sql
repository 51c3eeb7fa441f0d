-- +goose Up

-- The sessions at other providers (upstream_oidc) in which people signed in here. A row stays for as long as what was granted in it.
CREATE TABLE upstream_sessions (
	hash            $BYTES PRIMARY KEY, -- of the session here, which its grants name as well
	site            TEXT NOT NULL,      -- our issuer
	issuer          $KEY NOT NULL,      -- of the other provider
	subject         $KEY NOT NULL,
	sid             $KEY NOT NULL,      -- the session there (claim sid); empty: the provider named none
	user_id         $KEY NOT NULL REFERENCES users (id),
	refresh         $BYTES,             -- the refresh token there, sealed; null: the provider gave none
	asked_at        BIGINT NOT NULL,    -- when the provider last said that they are still there
	locked_till     BIGINT NOT NULL,    -- until when no other node asks, since one is asking
	paused_till     BIGINT NOT NULL,    -- until when no node asks, since the provider did not answer
	till            BIGINT NOT NULL
);
CREATE INDEX upstream_sessions_by_subject ON upstream_sessions (issuer, subject);
CREATE INDEX upstream_sessions_by_sid ON upstream_sessions (issuer, sid);
CREATE INDEX upstream_sessions_by_user ON upstream_sessions (user_id);
CREATE INDEX upstream_sessions_by_till ON upstream_sessions (till);
CREATE INDEX grants_by_session ON grants (session);

-- +goose Down
DROP INDEX grants_by_session;
DROP TABLE upstream_sessions;
