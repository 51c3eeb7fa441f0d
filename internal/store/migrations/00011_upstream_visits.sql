-- +goose Up

-- Who is signing in at another provider, by the hash of the state that they left with.
CREATE TABLE upstream_visits (
	hash            $BYTES PRIMARY KEY,
	request         $BYTES NOT NULL,    -- the authorization request to go on with, sealed with a key that is not in the database
	till            BIGINT NOT NULL
);
CREATE INDEX upstream_visits_by_till ON upstream_visits (till);

-- +goose Down
DROP TABLE upstream_visits;
