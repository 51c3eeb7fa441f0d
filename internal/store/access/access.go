// Package access stores who has access, and with what: users, their sessions, second factors and grants, OAuth clients,
// signing keys, users of the Apply API, API keys, and the sessions of the console. Package store embeds DB and Tx.
package access

import (
	"errors"

	"github.com/hiregate/hiregate/internal/database"
	"github.com/hiregate/hiregate/internal/store/rows"
)

var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = rows.ErrNotFound
	// ErrTaken says that a value that must be unique belongs to another row.
	ErrTaken = rows.ErrTaken
	// ErrTooMany says that a client has as many secrets as it may.
	ErrTooMany = errors.New("there are as many as there may be")
)

type row = database.Row

// DB reads the tables of this package.
type DB struct{ reads rows.Reader }

// Reading returns a DB that reads with a reader.
func Reading(r rows.Reader) DB { return DB{r} }

// Tx writes the tables of this package.
type Tx struct{ sql *database.Tx }

// Within returns a Tx that writes within a transaction.
func Within(tx *database.Tx) Tx { return Tx{tx} }
