package compliance

import (
	"cmp"
	"slices"

	"github.com/hiregate/hiregate/internal/model"
)

// Fewest is the smallest group of people whose size is told.
const Fewest = 5

// Summarize makes the reports of a job, or of all of a tenant's jobs together when it is empty. counts are those of
// all of the tenant's jobs in either case: what is told of one job and of all together must not tell more than each
// does.
func Summarize(counts []model.ComplianceCount, job string) []model.ComplianceGroupReport {
	reports := []model.ComplianceGroupReport{}
	for _, group := range Groups {
		form := forms()[group]
		r := model.ComplianceGroupReport{Group: group, Title: form.Title, Form: form.Form}
		asked := false
		for _, q := range form.Questions {
			if q.Format != model.Select {
				continue
			}
			t := tabulate(counts, &q)
			asked = asked || t.has(job)
			r.Questions = append(r.Questions, t.report(&q, job))
		}
		if asked {
			reports = append(reports, r)
		}
	}
	return reports
}

// table counts who chose each option of a question (columns) at each job (rows). The last row is all jobs together.
type table struct {
	jobs    []string
	options []string
	n       [][]int
	hidden  [][]bool
}

func tabulate(counts []model.ComplianceCount, q *model.Question) *table {
	t := &table{options: slices.Clone(q.Options)}
	row, column := map[string]int{}, map[string]int{}
	for n, option := range t.options {
		column[option] = n
	}
	for _, c := range counts {
		if c.Question != q.ID {
			continue
		}
		if _, ok := column[c.Value]; !ok { // of a form of before
			column[c.Value] = len(t.options)
			t.options = append(t.options, c.Value)
		}
		if _, ok := row[c.Job]; !ok {
			row[c.Job] = len(t.jobs)
			t.jobs = append(t.jobs, c.Job)
		}
	}
	for range len(t.jobs) + 1 {
		t.n = append(t.n, make([]int, len(t.options)))
		t.hidden = append(t.hidden, make([]bool, len(t.options)))
	}
	for _, c := range counts {
		if c.Question == q.ID {
			t.n[row[c.Job]][column[c.Value]] += c.Count
			t.n[len(t.jobs)][column[c.Value]] += c.Count
		}
	}
	t.hide()
	return t
}

func (t *table) has(job string) bool {
	return job == "" && len(t.jobs) > 0 || slices.Contains(t.jobs, job)
}

func (t *table) report(q *model.Question, job string) model.ComplianceQuestionReport {
	r := model.ComplianceQuestionReport{ID: q.ID, Label: q.Label, Options: make([]model.ComplianceOptionReport, len(t.options))}
	row := len(t.jobs)
	if job != "" {
		row = slices.Index(t.jobs, job)
	}
	total := 0
	for n, option := range t.options {
		r.Options[n].Option = option
		if row < 0 {
			continue
		}
		total += t.n[row][n]
		if !t.hidden[row][n] {
			r.Options[n].Count = &t.n[row][n]
		}
	}
	if total >= Fewest {
		r.Answers = &total
	}
	return r
}

// hide hides what is smaller than Fewest, and then as much else as it takes so that no hidden count follows from those
// that are told. How many applied for each job is known to whoever may list job applications, so each row's sum is;
// and the last row is the sum of the others.
func (t *table) hide() {
	for r := range t.n {
		for c, n := range t.n[r] {
			t.hidden[r][c] = n < Fewest
		}
	}
	for changed := true; changed; {
		changed = false
		for r := range t.n {
			changed = t.widen(t.row(r)) || changed
		}
		for c := range t.options {
			changed = t.widenColumn(c) || changed
		}
		if changed {
			continue
		}
		for _, b := range t.bridges() {
			if !t.hideOneOf(t.row(b.r)) && !t.hideOneOf(t.column(b.c)) && !t.hideOneOf(t.row(len(t.jobs))) {
				continue
			}
			changed = true
		}
	}
}

type cell struct{ r, c int }

func (t *table) row(r int) (line []cell) {
	for c := range t.options {
		line = append(line, cell{r, c})
	}
	return line
}

func (t *table) column(c int) (line []cell) {
	for r := range t.n {
		line = append(line, cell{r, c})
	}
	return line
}

// hideOneOf hides the smallest count of a line that is told. It reports false when there is none.
func (t *table) hideOneOf(line []cell) bool {
	line = slices.DeleteFunc(line, func(x cell) bool { return t.hidden[x.r][x.c] })
	if len(line) == 0 {
		return false
	}
	x := slices.MinFunc(line, func(a, b cell) int { return cmp.Compare(t.n[a.r][a.c], t.n[b.r][b.c]) })
	t.hidden[x.r][x.c] = true
	return true
}

// widen hides more of a line whose sum is known, until what is hidden is Fewest people or more together.
func (t *table) widen(line []cell) (changed bool) {
	for {
		hidden, people := 0, 0
		for _, x := range line {
			if t.hidden[x.r][x.c] {
				hidden, people = hidden+1, people+t.n[x.r][x.c]
			}
		}
		if hidden == 0 || hidden > 1 && people >= Fewest || !t.hideOneOf(slices.Clone(line)) {
			return changed
		}
		changed = true
	}
}

// widenColumn is widen for what the jobs add to a count of all jobs, where that is told. When all of them are hidden
// they are Fewest people or more, or the count of all would be hidden; and of a single job the same is hidden as of
// all.
func (t *table) widenColumn(c int) (changed bool) {
	all := len(t.jobs)
	return !t.hidden[all][c] && t.widen(t.column(c)[:all])
}

// bridges are the hidden counts that follow from those which are told and the sums. With rows and columns as the
// vertices of a graph, and hidden counts as its edges, a count is free exactly when its edge is on a cycle: around it,
// people can be moved without any sum changing.
func (t *table) bridges() (all []cell) {
	rows := len(t.n)
	order := make([]int, rows+len(t.options)) // when a vertex was reached, from 1
	low := make([]int, len(order))
	next := 0
	var visit func(v, from int)
	visit = func(v, from int) {
		next++
		order[v], low[v] = next, next
		edge := func(w int, x cell) {
			switch {
			case !t.hidden[x.r][x.c] || w == from:
			case order[w] > 0:
				low[v] = min(low[v], order[w])
			default:
				visit(w, v)
				low[v] = min(low[v], low[w])
				if low[w] > order[v] {
					all = append(all, x)
				}
			}
		}
		if v < rows {
			for c := range t.options {
				edge(rows+c, cell{v, c})
			}
			return
		}
		for r := range t.n {
			edge(r, cell{r, v - rows})
		}
	}
	for v := range order {
		if order[v] == 0 {
			visit(v, -1)
		}
	}
	return all
}
