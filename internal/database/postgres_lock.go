package database

import (
	"context"
	"database/sql"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"go.uber.org/zap"
)

// quietWait is how long a node waits for another one's migration before it logs that.
const quietWait = 3 * time.Second

// migrator has nodes that start at once migrate in turn. One waits up to five minutes for the others.
func (p *postgres) migrator(db *sql.DB, files fs.FS, log *zap.Logger) (*goose.Provider, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectPostgres, db, typed{files, postgresTypes},
		goose.WithSessionLocker(announced{locker, log, p.server, quietWait}))
}

// announced is a lock that logs a long wait.
type announced struct {
	lock.SessionLocker
	log    *zap.Logger
	server string
	silent time.Duration
}

// SessionLock implements lock.SessionLocker.
func (l announced) SessionLock(ctx context.Context, conn *sql.Conn) error {
	defer time.AfterFunc(l.silent, func() {
		l.log.Info("waiting for another gateway, which brings the database's schema up to date",
			zap.String("server", l.server))
	}).Stop()
	return l.SessionLocker.SessionLock(ctx, conn)
}
