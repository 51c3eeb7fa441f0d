package store

import (
	"fmt"
	"strings"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// tenantTables are the tables whose rows belong to a tenant by its name and outlive it, and in words what they hold.
var tenantTables = []struct{ word, table string }{
	{"exports", "exports"},
	{"redeliveries", "redeliveries"},
	{"candidates", "candidates"},
	{"jobs", "jobs"},
	{"steps", "steps"},
	{"job applications", "job_applications"},
	{"documents", "application_documents"},
	{"transitions", "transitions"},
	{"answers", "application_answers"},
	{"compliance answers", "compliance_answers"},
	{"submissions", "submissions"},
	{"users of the Apply API", "api_users"},
	{"API keys", "api_keys"},
}

var selectRemains = func() string {
	selects := make([]string, len(tenantTables))
	for n, b := range tenantTables {
		selects[n] = fmt.Sprintf(`SELECT %d AS n WHERE EXISTS (SELECT 1 FROM %s WHERE tenant = $1)`, n, b.table)
	}
	return strings.Join(selects, " UNION ALL ") + ` ORDER BY n`
}()

// ListRemains lists in words what is stored under a tenant's name: another tenant of that name would get it. It is
// empty where nobody had the name, or all was deleted.
func (tx *Tx) ListRemains(tenant string) ([]string, error) {
	return rows.QueryTx(tx.sql, func(r row) (string, error) {
		var n int
		err := r.Scan(&n)
		return tenantTables[n].word, err
	}, selectRemains, tenant)
}
