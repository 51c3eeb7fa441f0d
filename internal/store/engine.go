package store

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/vault"
)

// engine is what differs between the databases. The statements are the same on all of them, but for the schema's types.
type engine struct {
	identity string // tells whether two addresses mean the same database
	shown    string // for people, without a password
	goose    goose.Dialect
	types    *strings.Replacer
	// migrate says how the schema is brought up to date beside other nodes; nil: there are none.
	migrate func(*zap.Logger) ([]goose.ProviderOption, error)
	begin   string
	// sort tells whether the closures of a batch run in the order of their keys. On SQLite, where no other node writes, they run
	// as they came: ids then rise, and rows go to the end of their tables, which costs least.
	sort    bool
	connect func(access) (*sql.DB, error)
	// lock keeps out whoever must not use the database beside us, until it is closed.
	lock func() (io.Closer, error)
	// wait returns once the database can be reached, or says what to do.
	wait func(context.Context, *zap.Logger) error
	// explain adds to an error that keeps the database from being opened what to do about it. What wait says is whole.
	explain func(error) error
	// lost tells whether a connection must be opened anew after an error.
	lost func(error) bool
	// again tells whether an error was another node's doing, so that the same may succeed a moment later.
	again func(error) bool
	// argument makes of a text what the database takes; nil: it takes all.
	argument func(string) string
	// limit bounds each read, and what the writer does with those it took; 0: they end by themselves.
	limit time.Duration
	// hold ends a SELECT of rows that no other node is to delete before the transaction ends; empty: no other node writes.
	hold string
	// queue is a statement that waits until no other transaction has run it with the same number; empty: no other node writes.
	queue string
	// present fails when the database that is open is not what its address names any more. It is asked before each commit.
	present func() error
	// vaults are what secrets are sealed with.
	vaults *vault.Shared
	// dataKeys are what exports' content is sealed with.
	dataKeys dataKeys
	// size is that of the write-ahead log, in bytes.
	size func() int64
}

type access int

const (
	reading access = iota
	writing
)

const (
	exampleSQLite   = "sqlite:///var/lib/hiregate/hiregate.db"
	examplePostgres = "postgres://hiregate@db.internal/hiregate"
)

// engineOf reads a database's address: sqlite:///absolute/path, sqlite:relative/path or postgres://user:password@host:port/name.
func engineOf(address string) (*engine, error) {
	switch scheme, _, _ := strings.Cut(address, ":"); scheme {
	case "sqlite":
		return sqliteEngine(address)
	case "postgres", "postgresql":
		return postgresEngine(address)
	}
	return nil, fmt.Errorf("database address %q: write %s or %s", redactAddress(address), exampleSQLite, examplePostgres)
}

// redactAddress keeps a password that stands in an address out of an error, and with it all parameters. What is no URL may have one
// anywhere: host=db password=…, or user:password@host without a scheme.
func redactAddress(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if u, err := url.Parse(address); err == nil && !strings.ContainsAny(u.Opaque+u.Path+u.Fragment, "@=") {
		return u.Redacted()
	}
	return "(unreadable)"
}

// arguments are a statement's arguments as the engine takes them.
func (e *engine) arguments(args []any) []any {
	if e.argument == nil {
		return args
	}
	for n, arg := range args {
		if s, ok := arg.(string); ok {
			args[n] = e.argument(s)
		}
	}
	return args
}

// opening is the error of a database that can't be opened, while something was done.
func (e *engine) opening(doing string, err error) error {
	return fmt.Errorf("%s the database %s: %w", doing, e.shown, e.explain(err))
}

// bounded is the context of what the writer does with those it took, which no request's context cuts off.
func (e *engine) bounded() (context.Context, context.CancelFunc) {
	if e.limit == 0 {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.Background(), e.limit)
}

type nothing struct{}

func (nothing) Close() error { return nil }
