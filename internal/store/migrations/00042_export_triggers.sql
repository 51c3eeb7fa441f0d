-- +goose Up

-- What an export was triggered for: the job application that it is about, and the step that this entered (empty: a person
-- exported the candidate).
CREATE TABLE export_triggers (
	export_id       BIGINT PRIMARY KEY,
	tenant          $KEY NOT NULL,
	application     $KEY NOT NULL,
	step            $KEY NOT NULL
);
CREATE INDEX export_triggers_by_application ON export_triggers (tenant, application);

-- +goose Down
DROP TABLE export_triggers;
