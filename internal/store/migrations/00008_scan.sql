-- +goose Up

-- Documents of job applications are kept from everyone until a scanner says that they are clean.
ALTER TABLE application_documents ADD COLUMN scan $KEY NOT NULL DEFAULT '';       -- pending, clean or refused; empty: nobody was asked
ALTER TABLE application_documents ADD COLUMN finding TEXT NOT NULL DEFAULT '';    -- why it was refused, in the scanner's words
ALTER TABLE application_documents ADD COLUMN scan_at BIGINT;                      -- when its scan is to be started, or started again
CREATE INDEX application_documents_by_scan ON application_documents (scan_at, key) WHERE scan = 'pending';

-- Documents of exports that wait for the scan of what they are: the key of that document of a job application.
ALTER TABLE documents ADD COLUMN scan_of BIGINT;
CREATE INDEX documents_by_scan ON documents (scan_of) WHERE state = 'scanning';

-- +goose Down
DROP INDEX documents_by_scan;
ALTER TABLE documents DROP COLUMN scan_of;
DROP INDEX application_documents_by_scan;
ALTER TABLE application_documents DROP COLUMN scan_at;
ALTER TABLE application_documents DROP COLUMN finding;
ALTER TABLE application_documents DROP COLUMN scan;
