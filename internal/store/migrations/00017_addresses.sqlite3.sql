-- +goose Up

-- An integration's address may be a credential of its own: it is kept as its secret is, behind a byte that says how (1: as it is).
UPDATE integrations SET url = CAST(char(1) || url AS BLOB);

-- +goose Down
UPDATE integrations SET url = substr(CAST(url AS TEXT), 2);
