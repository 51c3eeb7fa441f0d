package store

import (
	"fmt"
	"strings"
)

// belongings are the tables of what belongs to a tenant by its name, and what they hold in words. Each outlives the tenant.
var belongings = []struct{ word, table string }{
	{"exports", "exports"},
	{"candidates", "candidates"},
	{"jobs", "jobs"},
	{"steps", "steps"},
	{"job applications", "job_applications"},
	{"documents", "application_documents"},
	{"transitions", "transitions"},
	{"answers", "application_answers"},
	{"compliance answers", "compliance_answers"},
	{"users of the Apply API", "api_users"},
	{"API keys", "api_keys"},
}

var findRemains = func() string {
	selects := make([]string, len(belongings))
	for n, b := range belongings {
		selects[n] = fmt.Sprintf(`SELECT %d AS n WHERE EXISTS (SELECT 1 FROM %s WHERE tenant = $1)`, n, b.table)
	}
	return strings.Join(selects, " UNION ALL ") + ` ORDER BY n`
}()

// Remains names what is kept under a tenant's name, in words; nothing is where nobody had that name, or all of it was deleted. Another
// tenant of that name would have it.
func (tx *Tx) Remains(tenant string) ([]string, error) {
	return queryTx(tx, func(r row) (string, error) {
		var n int
		err := r.Scan(&n)
		return belongings[n].word, err
	}, findRemains, tenant)
}
