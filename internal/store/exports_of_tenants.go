package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
)

// ofEach returns a query with a row for each of the filter's tenants, each.value, and its arguments. column makes the second
// column from what query returns for the tenant.
func (f ExportFilter) ofEach(db *DB, column func(q string) string) (string, []any) {
	f.Tenant, f.each = "", true
	q, args := f.query("e.id")
	args = append(args, strings.Join(f.Tenants, " "))
	return fmt.Sprintf(`SELECT each.value, %s FROM %s`, column(q), db.sql.Words(fmt.Sprintf("$%d", len(args)), "each")), args
}

// firstOf is a tenant with the ID of the first export of its list.
type firstOf struct {
	tenant string
	id     int64
}

// listOfTenants is ListExports for several tenants. It reads where the list of each begins, and merges those that begin
// before the end of the page: of a thousand tenants no more than a page needs.
func (db *DB) listOfTenants(ctx context.Context, f ExportFilter) (page []*model.Export, err error) {
	begin := f
	begin.Limit = 0
	q, args := begin.ofEach(db, func(q string) string { return "(" + q + ")" })
	firsts, err := rows.Query(ctx, db.reads, func(r row) (one firstOf, err error) {
		var id *int64
		if err = r.Scan(&one.tenant, &id); id != nil {
			one.id = *id
		}
		return one, err
	}, q, args...)
	if err != nil {
		return nil, err
	}
	firsts = slices.DeleteFunc(firsts, func(one firstOf) bool { return one.id == 0 })
	slices.SortFunc(firsts, func(a, b firstOf) int { return f.order(a.id, b.id) })
	for _, one := range firsts {
		if len(page) > f.Limit {
			if f.last = page[f.Limit].ID; f.order(one.id, f.last) > 0 {
				break
			}
		}
		f.Tenant, f.Tenants = one.tenant, nil
		q, args := f.query(exportColumns)
		found, err := rows.Query(ctx, db.reads, scanExport, q, args...)
		if err != nil {
			return nil, err
		}
		page = append(page, found...)
		slices.SortFunc(page, func(a, b *model.Export) int { return f.order(a.ID, b.ID) })
		page = page[:min(len(page), f.Limit+1)]
	}
	return page, nil
}

// order compares the IDs of two exports by their places in the list.
func (f ExportFilter) order(a, b int64) int {
	if f.Oldest {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(b, a)
}

// countedTenants is of how many tenants exports are counted at first; then of twice as many each time, until there are enough.
const countedTenants = 4

// countOfTenants is CountExports for several tenants.
func (db *DB) countOfTenants(ctx context.Context, f ExportFilter) (n int64, err error) {
	left := f.Tenants
	for size := countedTenants; len(left) > 0 && n <= MaxCounted; size *= 2 {
		f.Tenants = left[:min(size, len(left))]
		left = left[len(f.Tenants):]
		q, args := f.ofEach(db, func(q string) string { return "(SELECT count(*) FROM (" + q + ") counted)" })
		counts, err := rows.Query(ctx, db.reads, func(r row) (count int64, err error) {
			var tenant string
			return count, r.Scan(&tenant, &count)
		}, q, args...)
		if err != nil {
			return 0, err
		}
		for _, count := range counts {
			n += count
		}
	}
	return n, nil
}
