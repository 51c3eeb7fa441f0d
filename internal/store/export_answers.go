package store

import (
	"fmt"
	"strings"
)

// answered reports whether what the last attempt brought is asked for.
func (f ExportFilter) answered() bool { return f.Status != "" || f.Attempts > 0 }

// ofAnswers adds what is asked of the last attempt of a delivery d.
func (f ExportFilter) ofAnswers(c *conditions) {
	if !f.answered() {
		return
	}
	c.where = append(c.where, "d.fault <> ''", "d.attempts > 0")
	if f.Status != "" {
		first, last := f.Status.Range()
		c.is("d.status >=", first)
		c.is("d.status <=", last)
	}
	if f.Attempts > 0 {
		c.is("d.attempts >=", f.Attempts)
	}
}

// byAnswer is query for exports by what the last attempt brought. It steps through the index of each class of status in
// the order of the list, so that no more is read than a page needs where many match, and the index alone where few do.
func (f ExportFilter) byAnswer(columns string) (string, []any) {
	var c conditions
	f.ofDeliveries(&c, "", "")
	f.bounds(&c, "d.export_id")
	if f.Candidate != "" || f.Quarantined || f.Undelivered {
		f.ofItsExport(&c)
	}
	c.where = append(c.where, latest)
	c.args = append(c.args, f.Limit+1)
	first, last := 0, 999 // receivers answer with any three digits
	if f.Status != "" {
		first, last = f.Status.Range()
	}
	var classes []string
	for class := first / 100; class <= last/100; class++ {
		classes = append(classes, fmt.Sprintf(`SELECT export_id FROM (SELECT DISTINCT d.export_id FROM deliveries d%s
			AND d.status / 100 = %d ORDER BY d.export_id %s LIMIT $%d) of%[2]d`, &c, class, f.direction(), len(c.args)))
	}
	return fmt.Sprintf(`SELECT %s FROM exports e WHERE e.id IN (%s) ORDER BY e.id %s LIMIT $%d`, columns,
		strings.Join(classes, " UNION ALL "), f.direction(), len(c.args)), c.args
}
