package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// inFeed is the value of the column feed in jobs that are in the feed.
const inFeed = "yes"

// Position is a job as the feed shows it, without its questions: anybody may read the feed, and the questions can be a
// thousand times as large.
type Position struct {
	model.Row
	BoardCode   string    `json:"jobBoardCode"`
	Title       string    `json:"title"`
	URI         string    `json:"uri"`
	Place       string    `json:"place"`
	Description string    `json:"description"`
	ClosesAt    time.Time `json:"closesAt"`
}

var positions = collection[Position]{table: "positions",
	of: func(p *Position) (string, *model.Row, []any) { return p.BoardCode, &p.Row, nil }}

// ListFeedJobs lists the open jobs of a tenant that are syndicated, by job board code.
func (db *DB) ListFeedJobs(ctx context.Context, tenant string, p Page) ([]*Position, string, error) {
	return positions.list(ctx, db, tenant, "feed", []string{inFeed}, p)
}

// FeedState differs after each change of a tenant's feed.
type FeedState struct{ Jobs, Versions, UpdatedAt int64 }

// FeedState reads the state of a tenant's feed.
func (db *DB) FeedState(ctx context.Context, tenant string) (FeedState, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (FeedState, error) {
		var jobs int64
		var versions, updated sql.NullInt64
		err := r.Scan(&jobs, &versions, &updated)
		return FeedState{jobs, versions.Int64, updated.Int64}, err
	}, `SELECT COUNT(*), CAST(SUM(version) AS BIGINT), MAX(updated_at) FROM jobs WHERE tenant = $1 AND feed = $2`,
		tenant, inFeed)
}

// MaxFiles returns the largest number of questions for a file in an open job of a tenant.
func (db *DB) MaxFiles(ctx context.Context, tenant string) (int, error) {
	return rows.QueryOne(ctx, db.reads, func(r row) (int, error) {
		var n sql.NullInt64
		err := r.Scan(&n)
		return int(n.Int64), err
	}, `SELECT MAX(files) FROM jobs WHERE tenant = $1`, tenant)
}
