package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// collection is a table of resources: each belongs to a tenant, is known by an id there, and is kept as JSON beside the
// columns that lists filter by.
type collection[T any] struct {
	table string
	// those filters, each with an index that begins with tenant and ends with id, and what else is kept beside
	columns []string
	of      func(*T) (id string, row *model.Row, values []any)
}

// upsert writes a resource if its version is still the one it was read with; version 0: if there is none. It sets the
// next version and the times. Errors: ErrStale when another request changed it, or deleted and inserted it again;
// ErrTaken when the value of a unique column belongs to another resource.
func (c collection[T]) upsert(tx *Tx, v *T, now time.Time) error {
	id, row, values := c.of(v)
	before := *row
	*row = nextVersion(before, now)
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a row of %s: %w", c.table, err)
	}
	args := append([]any{row.Tenant, id, wrapBody(data), row.Version, rows.Micros(row.CreatedAt),
		rows.Micros(row.UpdatedAt)}, values...)
	var n int64
	if before.Version == 0 {
		n, err = tx.sql.Exec(c.insert(), args...)
	} else {
		n, err = tx.sql.Exec(c.update(), append(args, before.Version)...)
	}
	if err == nil && n == 1 {
		return nil
	}
	*row = before
	if err != nil {
		return err
	}
	if before.Version == 0 {
		if _, ok, err := c.find(tx, row.Tenant, id); err != nil || !ok {
			return cmp.Or(err, ErrTaken)
		}
	}
	return ErrStale
}

// nextVersion is the row of the next version of a resource.
func nextVersion(row model.Row, now time.Time) model.Row {
	row.UpdatedAt = now.UTC().Truncate(time.Microsecond)
	if row.Version == 0 {
		row.CreatedAt = row.UpdatedAt
	}
	row.Version++
	return row
}

func (c collection[T]) insert() string {
	places := make([]string, 6+len(c.columns))
	for n := range places {
		places[n] = fmt.Sprintf("$%d", n+1)
	}
	columns := append([]string{"tenant", "id", "data", "version", "created_at", "updated_at"}, c.columns...)
	return `INSERT INTO ` + c.table + ` (` + strings.Join(columns, ", ") + `)
		VALUES (` + strings.Join(places, ", ") + `) ON CONFLICT DO NOTHING`
}

func (c collection[T]) update() string {
	set := []string{"data = $3", "version = $4", "created_at = $5", "updated_at = $6"}
	for n, column := range c.columns {
		set = append(set, fmt.Sprintf("%s = $%d", column, n+7))
	}
	return `UPDATE ` + c.table + ` SET ` + strings.Join(set, ", ") + fmt.Sprintf(` WHERE tenant = $1 AND id = $2
		AND created_at = $5 AND version = $%d`, len(c.columns)+7)
}

const resourceColumns = `tenant, version, created_at, updated_at, data`

// fields scans a resource: the JSON, with the values of the columns over it.
func (c collection[T]) fields(r row) (*T, error) {
	v, _, err := c.sized(r)
	return v, err
}

// sized is fields, with the size of the JSON.
func (c collection[T]) sized(r row) (*T, int, error) {
	v := new(T)
	var read model.Row
	var kept []byte
	if err := r.Scan(&read.Tenant, &read.Version, rows.Time(&read.CreatedAt), rows.Time(&read.UpdatedAt),
		&kept); err != nil {
		return nil, 0, err
	}
	data, err := unwrapBody(kept)
	if err != nil {
		return nil, 0, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, 0, fmt.Errorf("reading a row of %s: %w", c.table, err)
	}
	_, row, _ := c.of(v)
	*row = read
	return v, len(data), nil
}

// find reads a resource within a transaction.
func (c collection[T]) find(tx *Tx, tenant, id string) (*T, bool, error) {
	return rows.First(c.rows(tx, ` AND id = $2`, tenant, id))
}

// lock is find with a lock on the row until the transaction ends: nobody deletes it.
func (c collection[T]) lock(tx *Tx, tenant, id string) (*T, bool, error) {
	return rows.First(c.rows(tx, ` AND id = $2`+tx.sql.KeyShare(), tenant, id))
}

// rows reads resources of a tenant within a transaction; $1 is the tenant.
func (c collection[T]) rows(tx *Tx, where string, args ...any) ([]*T, error) {
	return rows.QueryTx(tx.sql, c.fields, `SELECT `+resourceColumns+` FROM `+c.table+` WHERE tenant = $1`+where, args...)
}

// get reads a resource; ErrNotFound when there is none.
func (c collection[T]) get(ctx context.Context, db *DB, tenant, id string) (*T, error) {
	return rows.QueryOne(ctx, db.reads, c.fields, `SELECT `+resourceColumns+` FROM `+c.table+`
		WHERE tenant = $1 AND id = $2`, tenant, id)
}

// delete removes a resource in the version it was read as.
func (c collection[T]) delete(tx *Tx, v *T) error {
	id, row, _ := c.of(v)
	return tx.sql.RunOr(ErrStale, `DELETE FROM `+c.table+` WHERE tenant = $1 AND id = $2 AND version = $3
		AND created_at = $4`, row.Tenant, id, row.Version, rows.Micros(row.CreatedAt))
}

// pageData is the number of bytes of JSON after which a page ends, whatever its limit: a job may have 4 MiB.
const pageData = 8 << 20

// list reads a page of a tenant's resources, by id: those whose column has one of some values, or all without a column.
// next is the cursor of the following page, empty on the last one.
func (c collection[T]) list(ctx context.Context, db *DB, tenant, column string, values []string,
	p Page) (page []*T, next string, err error) {
	q, args := `SELECT `+resourceColumns+` FROM `+c.table+` WHERE tenant = $1 AND id > $2`,
		[]any{tenant, p.After, p.Size() + 1}
	if column != "" {
		in, all := oneOf(values, args...)
		q, args = q+` AND `+column+` IN (`+in+`)`, all
	}
	left, more := pageData, false
	page, err = rows.Query(ctx, db.reads, func(r row) (*T, error) {
		if left <= 0 {
			more = true
			return nil, rows.ErrStop
		}
		v, size, err := c.sized(r)
		left -= size
		return v, err
	}, q+` ORDER BY id LIMIT $3`, args...)
	if err == nil && len(page) > p.Size() {
		page, more = page[:p.Size()], true
	}
	if err == nil && more {
		next, _, _ = c.of(page[len(page)-1])
	}
	return page, next, err
}
