package compliance

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

var disability = model.Question{ID: "eeocDisability", Format: model.Select, Options: []string{"Yes", "No", "Decline"}}

// counted makes a table of a question; a row a job.
func counted(q *model.Question, jobs ...[]int) *table {
	var counts []model.ComplianceCount
	for j, row := range jobs {
		for o, n := range row {
			if n > 0 {
				counts = append(counts, model.ComplianceCount{Job: fmt.Sprint("job-", j), Question: q.ID, Value: q.Options[o],
					Count: n})
			}
		}
	}
	return tabulate(counts, q)
}

// told is a row as it is told; -1: hidden.
func (t *table) told(row int) (all []int) {
	for c, n := range t.n[row] {
		if t.hidden[row][c] {
			n = -1
		}
		all = append(all, n)
	}
	return all
}

func TestSmallGroupsAreHidden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		jobs       [][]int
		first, all []int
	}{
		{"large", [][]int{{5, 6, 7}}, []int{5, 6, 7}, []int{5, 6, 7}},
		{"one small: the next smallest goes with it", [][]int{{4, 30, 7}}, []int{-1, 30, -1}, []int{-1, 30, -1}},
		{"two small, whose sum is small", [][]int{{1, 1, 7}}, []int{-1, -1, -1}, []int{-1, -1, -1}},
		{"two small, whose sum is not", [][]int{{4, 4, 7}}, []int{-1, -1, 7}, []int{-1, -1, 7}},
		{"none is told from few", [][]int{{20, 0, 0}}, []int{-1, -1, -1}, []int{-1, -1, -1}},
		{"another job subtracted from all", [][]int{{3, 8, 9}, {7, 8, 9}}, []int{-1, -1, 9}, []int{10, 16, 18}},
	} {
		tb := counted(&disability, c.jobs...)
		require.Equal(t, c.first, tb.told(0), c.name)
		require.Equal(t, c.all, tb.told(len(c.jobs)), c.name)
	}
	tb := counted(&disability, []int{3, 8, 9}, []int{7, 8, 9})
	require.Equal(t, -1, tb.told(1)[0], "all less this one is the other")
}

// TestHiddenCountsDoNotFollow solves the equations that a reader of all reports can write down.
func TestHiddenCountsDoNotFollow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		q := disability
		for n := range rng.IntN(4) {
			q.Options = append(q.Options[:len(q.Options):len(q.Options)], fmt.Sprint(n))
		}
		jobs := make([][]int, 1+rng.IntN(5))
		for j := range jobs {
			for range q.Options {
				jobs[j] = append(jobs[j], rng.IntN(3)*rng.IntN(12))
			}
		}
		tb := counted(&q, jobs...)
		if len(tb.jobs) == 0 {
			continue
		}
		requireNothingFollows(t, tb)
	}
	// Two hidden squares, and one hidden count that joins them: each row and each column has two or three, and yet the
	// one is the difference of two rows and two columns.
	q := disability
	q.Options = []string{"a", "b", "c", "d"}
	tb := counted(&q, []int{4, 4, 4, 50}, []int{4, 4, 50, 50}, []int{50, 50, 4, 4}, []int{50, 50, 4, 4})
	requireNothingFollows(t, tb)
	require.Equal(t, []int{108, 108, 62, 108}, tb.told(4))
}

func requireNothingFollows(t *testing.T, tb *table) {
	t.Helper()
	unknown := map[cell]int{}
	for r := range tb.n {
		hidden, people := 0, 0
		for c, n := range tb.n[r] {
			if tb.hidden[r][c] {
				unknown[cell{r, c}] = len(unknown)
				hidden, people = hidden+1, people+n
			}
			require.False(t, n < Fewest && !tb.hidden[r][c], "%v", tb.n)
		}
		sum := 0
		for _, n := range tb.n[r] {
			sum += n
		}
		require.False(t, hidden > 0 && people < Fewest && people < sum, "what is left is a small group: %v %v", tb.n,
			tb.hidden)
	}
	var equations [][]float64
	add := func(line []cell, sign func(cell) float64) {
		e := make([]float64, len(unknown))
		for _, x := range line {
			if at, ok := unknown[x]; ok {
				e[at] = sign(x)
			}
		}
		equations = append(equations, e)
	}
	for r := range tb.n {
		add(tb.row(r), func(cell) float64 { return 1 })
	}
	for c := range tb.options {
		add(tb.column(c), func(x cell) float64 {
			if x.r == len(tb.jobs) {
				return -1
			}
			return 1
		})
	}
	rank := rankOf(equations, nil)
	for x, at := range unknown {
		unit := make([]float64, len(unknown))
		unit[at] = 1
		require.Greater(t, rankOf(equations, unit), rank, "the hidden count at %v follows: %v %v", x, tb.n, tb.hidden)
	}
}

// rankOf is the rank of a matrix of small whole numbers, and one more row.
func rankOf(rows [][]float64, more []float64) (rank int) {
	var m [][]float64
	for _, row := range append(rows[:len(rows):len(rows)], more) {
		if row != nil {
			m = append(m, append([]float64(nil), row...))
		}
	}
	for c := 0; len(m) > 0 && c < len(m[0]) && rank < len(m); c++ {
		pivot := rank
		for pivot < len(m) && m[pivot][c]*m[pivot][c] < 1e-9 {
			pivot++
		}
		if pivot == len(m) {
			continue
		}
		m[rank], m[pivot] = m[pivot], m[rank]
		for r := range m {
			if r == rank {
				continue
			}
			f := m[r][c] / m[rank][c]
			for k := range m[r] {
				m[r][k] -= f * m[rank][k]
			}
		}
		rank++
	}
	return rank
}

func TestReportsOfAJob(t *testing.T) {
	t.Parallel()
	counts := []model.ComplianceCount{
		{Job: "a", Group: "complianceEeo", Question: "eeocGender", Value: "Female", Count: 8},
		{Job: "a", Group: "complianceEeo", Question: "eeocGender", Value: "Male", Count: 9},
		{Job: "a", Group: "complianceEeo", Question: "eeocGender", Value: "An option of before", Count: 6},
		{Job: "a", Group: "complianceEeo", Question: "eeocGender", Value: "I do not want to answer", Count: 7},
	}
	for _, job := range []string{"", "a"} {
		all := Summarize(counts, job)
		require.Len(t, all, 1)
		require.Equal(t, "complianceEeo", all[0].Group)
		gender := all[0].Questions[0]
		require.Equal(t, 30, *gender.Answers)
		var told []string
		for _, o := range gender.Options {
			told = append(told, fmt.Sprint(o.Option, " ", *o.Count))
		}
		require.Equal(t, []string{"Male 9", "Female 8", "I do not want to answer 7", "An option of before 6"}, told)
		race := all[0].Questions[1]
		require.Nil(t, race.Answers)
		for _, o := range race.Options {
			require.Nil(t, o.Count)
		}
	}
	require.Empty(t, Summarize(counts, "b"))
	require.NotNil(t, Summarize(nil, ""))
}
