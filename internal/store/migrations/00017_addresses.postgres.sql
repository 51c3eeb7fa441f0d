-- +goose Up

-- An integration's address may be a credential of its own: it is kept as its secret is, behind a byte that says how (1: as it is).
ALTER TABLE integrations ALTER COLUMN url TYPE $BYTES USING convert_to(chr(1) || url, 'UTF8');

-- +goose Down
ALTER TABLE integrations ALTER COLUMN url TYPE TEXT USING substr(convert_from(url, 'UTF8'), 2);
