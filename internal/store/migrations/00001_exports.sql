-- +goose Up

CREATE TABLE exports (
	id              $ROWID, -- rises with the time; see hiring.NewID
	tenant          $KEY NOT NULL,
	key             $KEY NOT NULL,      -- X-Service-UUID, or what stands in for it
	keyed           BOOLEAN NOT NULL,
	origin          TEXT NOT NULL,
	sha256          $BYTES NOT NULL,
	size            BIGINT NOT NULL,
	candidate_id    $KEY NOT NULL,
	attachments     INTEGER NOT NULL,
	receipt         TEXT NOT NULL,      -- holds the id, and what can't be guessed
	received_at     BIGINT NOT NULL,
	documents_till  BIGINT NOT NULL,
	deliver_till    BIGINT NOT NULL,
	round           INTEGER NOT NULL,
	integrations    TEXT NOT NULL,      -- of the current round, separated by spaces; empty: all of the tenant's
	workflow_id     $KEY NOT NULL,
	group_id        BIGINT,             -- the first member of the group that carries round 0; null: that is a workflow of its own
	dispatched_at   BIGINT,
	dispatch_after  BIGINT NOT NULL,
	fault           TEXT NOT NULL,
	quarantined     BOOLEAN NOT NULL DEFAULT FALSE,
	findings        $BYTES,             -- a JSON array: how the body breaks the schema; null: it does not
	erased_at       BIGINT,             -- when what it held of its candidate was removed; null: it is there
	hops            INTEGER NOT NULL DEFAULT 0, -- how many exports of ours it follows from
	unsettled       BOOLEAN NOT NULL DEFAULT TRUE -- it may have a delivery that is not final; false: it has none
);
CREATE UNIQUE INDEX exports_by_key ON exports (tenant, key);
CREATE INDEX exports_by_tenant ON exports (tenant, id);
CREATE INDEX exports_by_candidate ON exports (tenant, candidate_id, id);
CREATE INDEX exports_quarantined ON exports (tenant, id) WHERE quarantined;
CREATE INDEX exports_quarantined_of_all ON exports (id) WHERE quarantined;
CREATE INDEX exports_unsettled ON exports (tenant, id) WHERE unsettled;
CREATE INDEX exports_unsettled_of_all ON exports (id) WHERE unsettled;
CREATE INDEX exports_undispatched ON exports (dispatch_after) WHERE dispatched_at IS NULL AND fault = '';
CREATE INDEX exports_undispatched_of_tenant ON exports (tenant, dispatch_after) WHERE dispatched_at IS NULL AND fault = '';
CREATE INDEX exports_undispatched_in_group ON exports (group_id) WHERE group_id IS NOT NULL AND dispatched_at IS NULL AND fault = '';

-- Apart from exports: the row outlives the body. The first byte of a body says how the rest is written (1: as it is).
CREATE TABLE export_bodies (
	export_id       $ROWID REFERENCES exports (id),
	body            $BYTES NOT NULL,
	link            $BYTES,
	export_context  $BYTES
);

-- The body as it goes out, made once for each document mode that changes it.
CREATE TABLE outgoing_bodies (
	export_id       BIGINT NOT NULL REFERENCES exports (id),
	documents       TEXT NOT NULL,      -- the mode
	body            $BYTES NOT NULL,
	PRIMARY KEY (export_id, documents)
);

-- A body's hash stands in for a missing X-Service-UUID until till.
CREATE TABLE unkeyed_bodies (
	tenant          $KEY NOT NULL,
	sha256          $BYTES NOT NULL,
	key             $KEY NOT NULL,
	till            BIGINT NOT NULL,
	PRIMARY KEY (tenant, sha256)
);

CREATE TABLE deliveries (
	id              $ID,
	export_id       BIGINT NOT NULL REFERENCES exports (id),
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	round           INTEGER NOT NULL,
	outcome         TEXT NOT NULL,
	fault           TEXT NOT NULL,
	reason          TEXT NOT NULL,
	attempts        INTEGER NOT NULL,
	parked          BOOLEAN NOT NULL,
	held_since      BIGINT,
	next_at         BIGINT,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	documents       TEXT NOT NULL DEFAULT '', -- the mode of its first attempt, and so of all; empty: none was made
	redelivery      $KEY,               -- of a range, that began it; null: none did
	asked_at        BIGINT              -- when somebody asked for the next attempt; null: nobody did
);
CREATE UNIQUE INDEX deliveries_by_export ON deliveries (export_id, integration, round);
CREATE INDEX deliveries_by_integration ON deliveries (tenant, integration, outcome, export_id);
CREATE INDEX deliveries_held ON deliveries (tenant, integration, export_id) WHERE held_since IS NOT NULL;
CREATE INDEX deliveries_by_outcome ON deliveries (tenant, outcome, export_id);
CREATE INDEX deliveries_of_integration ON deliveries (tenant, integration, export_id);
CREATE INDEX deliveries_by_redelivery ON deliveries (redelivery, outcome) WHERE redelivery IS NOT NULL;
CREATE INDEX deliveries_of_all_by_outcome ON deliveries (outcome, export_id);
CREATE INDEX deliveries_ended_badly ON deliveries (outcome, updated_at) WHERE outcome IN ('failed', 'expired');
CREATE INDEX deliveries_ended_badly_of_tenant ON deliveries (tenant, outcome, updated_at) WHERE outcome IN ('failed', 'expired');

CREATE TABLE attempts (
	delivery_id     BIGINT NOT NULL REFERENCES deliveries (id),
	number          INTEGER NOT NULL,
	started_at      BIGINT NOT NULL,
	duration        BIGINT NOT NULL,    -- microseconds
	status          INTEGER NOT NULL,   -- 0: no answer
	error           TEXT NOT NULL,
	answer          $BYTES,             -- its header, a line each, an empty line, and its body
	sealed          $BYTES,             -- in the place of answer; null: it is not sealed
	address         TEXT NOT NULL DEFAULT '',
	dns             BIGINT NOT NULL DEFAULT 0, -- microseconds, as those that follow
	connect         BIGINT NOT NULL DEFAULT 0,
	tls             BIGINT NOT NULL DEFAULT 0,
	first_byte      BIGINT NOT NULL DEFAULT 0,
	manual          BOOLEAN NOT NULL DEFAULT FALSE,
	PRIMARY KEY (delivery_id, number)
);

CREATE TABLE documents (
	id              $ID,
	export_id       BIGINT NOT NULL REFERENCES exports (id),
	tenant          $KEY NOT NULL,
	position        INTEGER NOT NULL,
	source_url      $BYTES NOT NULL,
	state           TEXT NOT NULL,
	reason          TEXT NOT NULL,
	tries           INTEGER NOT NULL,
	next_at         BIGINT,
	blob            $KEY NOT NULL,
	sha256          $BYTES,
	size            BIGINT NOT NULL,
	declared        TEXT NOT NULL,
	detected        TEXT NOT NULL,
	file_name       TEXT NOT NULL,
	created_at      BIGINT NOT NULL,
	fetched_at      BIGINT,
	scan_of         BIGINT,             -- the document of a job application, by its key, whose scan it waits for
	refusals        INTEGER NOT NULL DEFAULT 0, -- of its tries, those that count towards giving it up
	sealed          $BYTES              -- in the place of source_url and file_name; null: they are not sealed
);
CREATE UNIQUE INDEX documents_by_export ON documents (export_id, position);
CREATE INDEX documents_fetching ON documents (export_id) WHERE state = 'fetching';
CREATE INDEX documents_lost ON documents (export_id) WHERE state = 'given_up';
CREATE INDEX documents_lost_of_tenant ON documents (tenant, export_id) WHERE state = 'given_up';
CREATE INDEX documents_by_scan ON documents (scan_of) WHERE state = 'scanning';
-- A file may be the document of several exports, and of a job application: it goes with the last of them.
CREATE INDEX documents_by_blob ON documents (blob) WHERE blob <> '';

-- A public URL of ours is a credential: only its hash is kept.
CREATE TABLE document_links (
	hash            $BYTES PRIMARY KEY,
	document_id     BIGINT NOT NULL REFERENCES documents (id),
	till            BIGINT NOT NULL
);
CREATE INDEX document_links_by_document ON document_links (document_id);

CREATE TABLE integration_states (
	tenant          $KEY NOT NULL,
	integration     $KEY NOT NULL,
	setting         $BYTES NOT NULL,    -- tenant, name, URL and secret it was verified with, hashed
	state           TEXT NOT NULL,
	reason          TEXT NOT NULL,
	attempts        INTEGER NOT NULL,
	updated_at      BIGINT NOT NULL,
	removed_at      BIGINT,             -- when one of this name was removed last; null: never
	by_operator     BOOLEAN NOT NULL,   -- an operator disabled it, with whatever setting; see IntegrationStatus
	former          $BYTES,             -- the setting with the former secret, as long as that is verified; null: it is not
	PRIMARY KEY (tenant, integration)
);

-- One row, as large as a large export: writing it tells whether the next export would find room.
CREATE TABLE heartbeat (
	id              INTEGER PRIMARY KEY,
	at              BIGINT NOT NULL,
	ballast         $BYTES NOT NULL
);

-- What exports hold is sealed with these, where there is something to seal them with in their turn.
CREATE TABLE data_keys (
	id              $KEY PRIMARY KEY,   -- at random: two nodes may make one at once
	sealed          $BYTES NOT NULL,    -- the key, sealed with what is not in the database
	created_at      BIGINT NOT NULL
);

-- +goose Down
DROP TABLE data_keys;
DROP TABLE heartbeat;
DROP TABLE integration_states;
DROP TABLE document_links;
DROP TABLE documents;
DROP TABLE attempts;
DROP TABLE deliveries;
DROP TABLE unkeyed_bodies;
DROP TABLE outgoing_bodies;
DROP TABLE export_bodies;
DROP TABLE exports;
