package store

import "fmt"

// ofTenants is a table of the tenants that have exports. It steps through the index of keys, once for each tenant.
const ofTenants = `WITH RECURSIVE each_tenant (tenant) AS (
	SELECT MIN(tenant) FROM exports
	UNION ALL
	SELECT (SELECT MIN(x.tenant) FROM exports x WHERE x.tenant > each_tenant.tenant) FROM each_tenant
	WHERE each_tenant.tenant IS NOT NULL
) `

// search is query for exports whose key begins with a prefix. There is no index of keys without tenants: keys are
// random, it would cost each acknowledgement another page. So the index of tenant and key is asked for each tenant. Any
// that match are found, up to a page.
func (f ExportFilter) search() (string, []any) {
	args := []any{f.Prefix, f.Prefix + "\x7f", f.Limit} // keys are of visible ASCII characters
	from, tenant := "each_tenant CROSS JOIN exports e", "each_tenant.tenant"
	q := ofTenants
	if f.Tenant != "" {
		args = append(args, f.Tenant)
		q, from, tenant = "", "exports e", "$4"
	}
	return q + fmt.Sprintf(`SELECT %s FROM %s WHERE e.tenant = %s AND e.key >= $1 AND e.key < $2 LIMIT $3`, exportColumns, from,
		tenant), args
}
