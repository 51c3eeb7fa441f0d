package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/platform"
)

const (
	postgresReaders = 8
	// patience is how long Open waits for a PostgreSQL that is not there yet.
	patience = 30 * time.Second
	// connectLimit bounds an attempt to connect, unless the address says connect_timeout: writes wait for it.
	connectLimit = 5 * time.Second
)

var postgresTypes = strings.NewReplacer("$ID", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
	"$ROWID", "BIGINT PRIMARY KEY", "$BYTES", "BYTEA", "$KEY", `TEXT COLLATE "C"`)

// The settings of our sessions, whatever the server's are. Waiting for another node's lock has a limit, and so has a
// transaction whose node hangs, since other nodes wait for it: writeWithin has room for one such wait.
// synchronous_commit = off would acknowledge what is not on disk: what a session sets for itself, the server's setting
// does not reach later.
const (
	postgresReading = `SET default_transaction_read_only = on; ` + neverIdle
	postgresWriting = `SET default_transaction_read_only = off; SET lock_timeout = '4s';
		SET idle_in_transaction_session_timeout = '10s';
		SELECT set_config('synchronous_commit',
		CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END,
		false); ` + neverIdle
	// neverIdle: a session may have nothing to do for a night. Servers before version 14 don't know the setting.
	neverIdle = `SELECT set_config('idle_session_timeout', '0', false) FROM pg_settings
		WHERE name = 'idle_session_timeout'`
)

// postgres is a database of a PostgreSQL server, which several nodes may share.
type postgres struct {
	config *pgx.ConnConfig
	server string        // host:port, for people
	digest string        // of the address
	limit  time.Duration // of a read, or of a batch of writes
}

// parsePostgres reads an address: postgres://user:password@host:port/name?sslmode=…
func parsePostgres(address string) (dialect, error) {
	const form = "write postgres://user:password@host:5432/name, special characters in the password percent-encoded"
	if _, err := url.Parse(address); err != nil { // the error quotes the address, password and all
		return nil, errors.New("the address of the database can't be read: " + form)
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("database address %q can't be read: %s", redactAddress(address), form)
	}
	if config.Database == "" {
		return nil, fmt.Errorf("database address %q names no database: %s", redactAddress(address), form)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectLimit
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	if _, ok := config.RuntimeParams["application_name"]; !ok {
		config.RuntimeParams["application_name"] = "hiregate"
	}
	sum := sha256.Sum256([]byte(address))
	return &postgres{config, net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), hex.EncodeToString(sum[:8]),
		writeWithin}, nil
}

// identity depends on the whole address, so that a new password takes effect with a reload; it can't be read there.
func (p *postgres) identity() string {
	return "postgres:" + p.server + "/" + p.config.Database + "#" + p.digest
}

func (p *postgres) String() string  { return p.config.Database + " at " + p.server }
func (*postgres) shared() bool      { return true }
func (*postgres) beginning() string { return "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" }

// bound: a server that vanished without closing its connections would otherwise block the writer, or a reader, for 15
// minutes.
func (p *postgres) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, p.limit)
}

// keyShare is the lock that foreign keys take: updates need not wait for it.
func (*postgres) keyShare() string   { return " FOR KEY SHARE" }
func (*postgres) skipLocked() string { return " FOR UPDATE SKIP LOCKED" }

func (*postgres) words(column, alias string) string {
	return `unnest(string_to_array(` + column + `, ' ')) AS ` + alias + `(value)`
}

func (*postgres) lockKey(tx *Tx, key int64) error {
	_, err := tx.Exec("SELECT pg_advisory_xact_lock($1)", key)
	return err
}

// tryRoom appends to a temporary table, which is on the disk of the others and is emptied by the COMMIT. A row that is
// updated, or inserted in the place of a deleted one, finds the room of the former one, and an export does not. A dump
// that is under way locks no temporary table.
func (*postgres) tryRoom(tx *Tx, bytes []byte) error {
	_, err := tx.Exec(`CREATE TEMPORARY TABLE IF NOT EXISTS hiregate_room (bytes BYTEA) ON COMMIT DELETE ROWS`)
	if err == nil {
		_, err = tx.Exec(`INSERT INTO hiregate_room (bytes) VALUES ($1)`, bytes)
	}
	return err
}

func (*postgres) tableExists() string { return `SELECT to_regclass($1) IS NOT NULL` }

func (*postgres) present() error { return nil }
func (*postgres) size() string   { return `SELECT pg_database_size(current_database())` }
func (*postgres) walSize() int64 { return 0 }

func (p *postgres) connect(a access) (*sql.DB, error) {
	settings, n := postgresWriting, 1
	if a == reading {
		settings, n = postgresReading, postgresReaders
	}
	db := stdlib.OpenDB(*p.config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.PgConn().Exec(ctx, settings).ReadAll()
		return err
	}))
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func (*postgres) session(conn *sql.Conn, roundTrips *atomic.Int64) session {
	return pipelineSession{conn, roundTrips}
}

// claim locks nobody out.
func (p *postgres) claim(ctx context.Context, log *zap.Logger) (io.Closer, error) {
	return io.NopCloser(nil), p.wait(ctx, log)
}

// wait waits for a server that does not answer yet: a gateway and its database are often started together.
func (p *postgres) wait(ctx context.Context, log *zap.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	for began, logged := time.Now(), false; ; {
		last := p.look(ctx)
		if last == nil || errors.Is(last, errUnfit) {
			return last
		}
		if err == nil || ctx.Err() == nil { // what a look said that was broken off is not the reason
			err = last
		}
		if !unreachable(err) {
			return p.explainConnection(err)
		}
		if !logged {
			logged = true
			log.Info("waiting for PostgreSQL, which does not answer or takes no writes yet",
				zap.String("server", p.server), zap.Duration("for", patience), zap.Error(err))
		}
		select {
		case <-time.After(250 * time.Millisecond):
		case <-ctx.Done():
			return p.absent(err, fmt.Sprintf(", for %s", time.Since(began).Round(time.Second)))
		}
	}
}

var (
	errReplica  = errors.New("it is a replica, which takes no writes")
	errUnfit    = errors.New("it can't be used as it is set up") // however long we wait
	errEncoding = fmt.Errorf("hiregate needs a database in UTF8: %w", errUnfit)
	errPooled   = fmt.Errorf("hiregate needs sessions of its own: %w", errUnfit)
)

// absent explains an error of look that may end by itself. waited says how long it did not, such as ", for 30s".
func (p *postgres) absent(err error, waited string) error {
	if errors.Is(err, errReplica) {
		return fmt.Errorf("PostgreSQL at %s is a replica, which takes no writes%s: write the primary's host and port in the "+
			"address of the database", p.server, waited)
	}
	if limit := platform.FilesExhausted(err); limit != "" {
		return fmt.Errorf("PostgreSQL at %s could not be asked%s: %s: %w", p.server, waited, limit, err)
	}
	return fmt.Errorf("no PostgreSQL answers at %s%s: start it, or correct the host and port in the address of the "+
		"database: %w", p.server, waited, err)
}

// inOneLine is an error of pgx, which gives each of its attempts a line, also of those that failed alike.
type inOneLine struct{ error }

func (e inOneLine) Unwrap() error { return e.error }

func (e inOneLine) Error() string {
	var said []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return strings.Join(said, " ")
}

// look connects, and fails unless the database is one that we can use.
func (p *postgres) look(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return inOneLine{err}
	}
	defer c.Close(ctx)
	var replica bool
	var encoding string
	if err := c.QueryRow(ctx, `SELECT pg_is_in_recovery(), current_setting('server_encoding')`,
		pgx.QueryExecModeSimpleProtocol).Scan(&replica, &encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database %s at %s is in %s: make another (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE "+
			"template0), and write its name in the address: %w",
			p.config.Database, p.server, encoding, errEncoding)
	}
	if replica {
		return errReplica
	}
	return p.checkSession(ctx, c.PgConn())
}

// The classes and codes of SQLSTATE that mean something to us; see "PostgreSQL Error Codes" in its manual.
const (
	connectionException = "08"
	protocolViolation   = "08P01"
	operatorShutdown    = "57P0" // shut down, crashed, starting up, database dropped
	tooManyConnections  = "53300"
	readOnlyTransaction = "25006"
	wrongPassword       = "28P01"
	notAllowed          = "28000"
	noSuchDatabase      = "3D000"
	noPrivilege         = "42501"
	serializationFailed = "40001"
	deadlock            = "40P01"
	dataCorrupted       = "XX001"
	indexCorrupted      = "XX002"
)

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// unreachable reports whether a failed connection may succeed later: no server answered, or one that is not ready.
func unreachable(err error) bool {
	code := sqlState(err)
	return code == "" || code == tooManyConnections || strings.HasPrefix(code, operatorShutdown) ||
		strings.HasPrefix(code, connectionException)
}

// lost: an error that is not the server's of a statement broke the connection, or leaves it in doubt. A server that
// became a standby takes no writes; the new primary may have the same address.
func (*postgres) lost(err error) bool {
	if errors.As(err, new(pgx.ErrPreprocessingBatch)) { // an argument has no form for its column
		return false
	}
	code := sqlState(err)
	return code == "" || code == readOnlyTransaction || strings.HasPrefix(code, operatorShutdown) ||
		strings.HasPrefix(code, connectionException)
}

// conflict: a deadlock, or a serialization failure.
func (*postgres) conflict(err error) bool {
	code := sqlState(err)
	return code == deadlock || code == serializationFailed
}

func (*postgres) damaged(err error) bool {
	code := sqlState(err)
	return code == dataCorrupted || code == indexCorrupted
}

// examine has nothing to do: only PostgreSQL's own tools read all of a database.
func (*postgres) examine(context.Context) error { return nil }

func (p *postgres) explainConnection(err error) error {
	switch sqlState(err) {
	case wrongPassword, notAllowed:
		return fmt.Errorf("PostgreSQL at %s does not let the user %s in: correct user and password in the address of the "+
			"database, or the server's pg_hba.conf: %w",
			p.server, p.config.User, err)
	case noSuchDatabase:
		return fmt.Errorf("PostgreSQL at %s has no database %s: make it (CREATE DATABASE %s OWNER %s), or correct its "+
			"name in the address: %w",
			p.server, p.config.Database, p.config.Database, p.config.User, err)
	case noPrivilege:
		return fmt.Errorf("the user %s may not connect to the database %s: let them (GRANT CONNECT ON DATABASE %s TO %s): %w",
			p.config.User, p.config.Database, p.config.Database, p.config.User, err)
	}
	return err
}

// explain is asked only once a connection was made: the schema could not be brought up to date.
func (p *postgres) explain(err error) error {
	if sqlState(err) == noPrivilege {
		return fmt.Errorf("the user %s may not make or change tables in the database %s: make them its owner (ALTER "+
			"DATABASE %s OWNER TO %s), and of the tables that are there: %w",
			p.config.User, p.config.Database, p.config.Database, p.config.User, err)
	}
	return err
}

// arguments makes valid UTF-8 without U+0000 of each text, since PostgreSQL takes no other.
func (*postgres) arguments(args []any) []any {
	for n, arg := range args {
		if s, ok := arg.(string); ok {
			args[n] = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
		}
	}
	return args
}
