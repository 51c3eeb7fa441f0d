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
	part  string // what it is called where it is sealed; empty: it never is
	// those filters, each with an index that begins with tenant and ends with id, and what else is kept beside
	columns []string
	of      func(*T) (id string, row *model.Row, values []any)
	words   func(*T) []searchWord // that it is found by; nil: it is found by its columns alone
	kinds   string                // of those words, as a list in SQL
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
	kept, values, err := c.stored(&tx.db.dataKeys, row.Tenant, id, data, values)
	if err != nil {
		return err
	}
	args := append([]any{row.Tenant, id, kept, row.Version, rows.Micros(row.CreatedAt), rows.Micros(row.UpdatedAt)},
		values...)
	var n int64
	if before.Version == 0 {
		n, err = tx.sql.Exec(c.insert(), args...)
	} else {
		n, err = tx.sql.Exec(c.update(), append(args, before.Version)...)
	}
	if err == nil && n == 1 {
		if c.words == nil {
			return nil
		}
		if before.Version > 0 {
			if err := c.deleteWords(tx, row.Tenant, id); err != nil {
				return err
			}
		}
		return c.insertWords(tx, v)
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

// stored returns the JSON of a resource, and the values of its columns, as they are stored.
func (c collection[T]) stored(k *dataKeys, tenant, id string, data []byte,
	values []any) (kept []byte, _ []any, err error) {
	for n, value := range values {
		if word, ok := value.(searchWord); ok {
			if values[n], err = k.hashed(tenant, word); err != nil {
				return nil, nil, err
			}
		}
	}
	if c.part == "" {
		return wrapBody(data), values, nil
	}
	kept, err = k.wrapPerson(c.part, personRow(tenant, id), data)
	return kept, values, err
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

const resourceColumns = `tenant, id, version, created_at, updated_at, data`

// keptResource is a resource as it lies in its row.
type keptResource struct {
	model.Row
	id   string
	data []byte
}

func scanResource(r row) (k keptResource, err error) {
	err = r.Scan(&k.Tenant, &k.id, &k.Version, rows.Time(&k.CreatedAt), rows.Time(&k.UpdatedAt), &k.data)
	return k, err
}

// open returns the resources of rows: the JSON, with the values of the columns over it.
func (c collection[T]) open(with opening, all []keptResource, err error) ([]*T, error) {
	if err != nil {
		return nil, err
	}
	opened := make([]*T, len(all))
	for n, kept := range all {
		if c.part != "" {
			if kept.data, err = with(c.part, personRow(kept.Tenant, kept.id), kept.data); err != nil {
				return nil, err
			}
		}
		data, err := unwrapBody(kept.data)
		if err != nil {
			return nil, err
		}
		v := new(T)
		if err := json.Unmarshal(data, v); err != nil {
			return nil, fmt.Errorf("reading a row of %s: %w", c.table, err)
		}
		_, row, _ := c.of(v)
		*row = kept.Row
		opened[n] = v
	}
	return opened, nil
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
	all, err := rows.QueryTx(tx.sql, scanResource, `SELECT `+resourceColumns+` FROM `+c.table+` WHERE tenant = $1`+where,
		args...)
	return c.open(tx.openPart, all, err)
}

// get reads a resource; ErrNotFound when there is none.
func (c collection[T]) get(ctx context.Context, db *DB, tenant, id string) (*T, error) {
	all, err := rows.Query(ctx, db.reads, scanResource, `SELECT `+resourceColumns+` FROM `+c.table+`
		WHERE tenant = $1 AND id = $2`, tenant, id)
	v, there, err := rows.First(c.open(db.opening(ctx), all, err))
	if err == nil && !there {
		err = ErrNotFound
	}
	return v, err
}

// delete removes a resource in the version it was read as.
func (c collection[T]) delete(tx *Tx, v *T) error {
	id, row, _ := c.of(v)
	err := tx.sql.RunOr(ErrStale, `DELETE FROM `+c.table+` WHERE tenant = $1 AND id = $2 AND version = $3
		AND created_at = $4`, row.Tenant, id, row.Version, rows.Micros(row.CreatedAt))
	if err != nil || c.words == nil {
		return err
	}
	return c.deleteWords(tx, row.Tenant, id)
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
	all, err := rows.Query(ctx, db.reads, func(r row) (keptResource, error) {
		if left <= 0 {
			more = true
			return keptResource{}, rows.ErrStop
		}
		kept, err := scanResource(r)
		left -= len(kept.data)
		return kept, err
	}, q+` ORDER BY id LIMIT $3`, args...)
	if err == nil && len(all) > p.Size() {
		all, more = all[:p.Size()], true
	}
	if page, err = c.open(db.opening(ctx), all, err); err == nil && more {
		next = all[len(all)-1].id
	}
	return page, next, err
}
