package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// UpstreamTitle reads the title of a job in the feed of a tenant's service, and when the feed was read; empty: it has no such
// job. feed is the hash of its address: titles of another one do not count.
func (db *DB) UpstreamTitle(ctx context.Context, tenant, job string, feed []byte) (title string, at time.Time, err error) {
	title, err = rows.QueryOne(ctx, db.reads, func(r row) (title string, err error) {
		return title, r.Scan(&title, rows.Time(&at))
	}, `SELECT COALESCE((SELECT title FROM upstream_titles t WHERE t.tenant = u.tenant AND t.job = $1), ''), feed_read_at
		FROM upstreams u WHERE tenant = $2 AND feed = $3`, job, tenant, feed)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return title, at, err
}

// titlesAtOnce is how many titles a statement writes.
const titlesAtOnce = 100

// UpdateUpstreamTitles writes the titles of a feed, by job board code, in the place of those that were there.
func (tx *Tx) UpdateUpstreamTitles(tenant string, feed []byte, titles map[string]string, now time.Time) error {
	if err := tx.sql.Run(`INSERT INTO upstreams (tenant, fault, feed, feed_read_at) VALUES ($1, '', $2, $3)
		ON CONFLICT (tenant) DO UPDATE SET feed = excluded.feed, feed_read_at = excluded.feed_read_at`,
		tenant, feed, rows.Micros(now)); err != nil {
		return err
	}
	known, err := rows.QueryTx(tx.sql, func(r row) (one [2]string, err error) {
		return one, r.Scan(&one[0], &one[1])
	}, `SELECT job, title FROM upstream_titles WHERE tenant = $1`, tenant)
	if err != nil {
		return err
	}
	changed := maps.Clone(titles)
	for _, one := range known {
		title, ok := titles[one[0]]
		switch {
		case !ok:
			if err := tx.sql.Run(`DELETE FROM upstream_titles WHERE tenant = $1 AND job = $2`, tenant, one[0]); err != nil {
				return err
			}
		case title == one[1]:
			delete(changed, one[0])
		}
	}
	for some := range slices.Chunk(slices.Sorted(maps.Keys(changed)), titlesAtOnce) {
		values, args := make([]string, len(some)), []any{tenant}
		for n, job := range some {
			args = append(args, job, changed[job])
			values[n] = fmt.Sprintf("($1, $%d, $%d)", len(args)-1, len(args))
		}
		if err := tx.sql.Run(`INSERT INTO upstream_titles (tenant, job, title) VALUES `+strings.Join(values, ", ")+`
			ON CONFLICT (tenant, job) DO UPDATE SET title = excluded.title`, args...); err != nil {
			return err
		}
	}
	return nil
}

// DeleteUpstreamTitles deletes the titles of feeds that were read last before a time.
func (tx *Tx) DeleteUpstreamTitles(before time.Time) error {
	old, err := rows.QueryTx(tx.sql, rows.Value[string], `UPDATE upstreams SET feed = NULL, feed_read_at = NULL
		WHERE feed_read_at < $1 RETURNING tenant`, rows.Micros(before))
	for _, tenant := range old {
		if err := tx.sql.Run(`DELETE FROM upstream_titles WHERE tenant = $1`, tenant); err != nil {
			return err
		}
	}
	return err
}
