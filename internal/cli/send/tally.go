package send

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// maxReasons bounds how many different reasons a tally counts.
const maxReasons = 100

// tally sums up the answers of a run. It belongs to one goroutine.
type tally struct {
	started     time.Time
	statuses    map[int]int
	reasons     map[string]int // why something was not acknowledged
	took        []time.Duration
	accepted    int
	receipt     string // of the last one that was accepted
	answered    int    // with any status
	failed      int    // no answer came
	interrupted int    // on its way when the run was stopped
}

func newTally() *tally {
	return &tally{started: time.Now(), statuses: map[int]int{}, reasons: map[string]int{}}
}

func (t *tally) add(a *answer) {
	switch {
	case a.Interrupted:
		t.interrupted++
		return
	case a.Status == 0:
		t.failed++
	default:
		t.answered++
		t.statuses[a.Status]++
		t.took = append(t.took, a.took)
	}
	if a.Accepted {
		t.accepted++
		t.receipt = a.Receipt
		return
	}
	reason := a.reason()
	if _, known := t.reasons[reason]; !known && len(t.reasons) >= maxReasons {
		reason = "other reasons"
	}
	t.reasons[reason]++
}

// summary sums up a run; with --json it is the last line.
type summary struct {
	Kind          string         `json:"kind"` // "summary"
	Requested     int            `json:"requested"`
	Answered      int            `json:"answered"` // with any status
	Accepted      int            `json:"accepted"`
	Failed        int            `json:"failed"`      // no answer came
	Interrupted   int            `json:"interrupted"` // on their way when the run was stopped: their result is unknown
	NotSent       int            `json:"notSent"`
	Statuses      map[int]int    `json:"statuses"`
	Reasons       map[string]int `json:"reasons"`
	Seconds       float64        `json:"seconds"`
	PerSecond     float64        `json:"perSecond"` // answers
	P50Millis     float64        `json:"p50Millis"`
	P95Millis     float64        `json:"p95Millis"`
	P99Millis     float64        `json:"p99Millis"`
	p50, p95, p99 time.Duration
	elapsed       time.Duration
}

// summary ends the tally of a run that was to send requested exports.
func (t *tally) summary(requested int) *summary {
	elapsed := time.Since(t.started)
	slices.Sort(t.took)
	s := &summary{
		Kind: "summary", Requested: requested, Answered: t.answered, Accepted: t.accepted, Failed: t.failed,
		Interrupted: t.interrupted, NotSent: requested - t.answered - t.failed - t.interrupted,
		Statuses: t.statuses, Reasons: t.reasons, Seconds: elapsed.Seconds(),
		p50: percentile(t.took, 50), p95: percentile(t.took, 95), p99: percentile(t.took, 99),
		elapsed: elapsed,
	}
	s.PerSecond = float64(t.answered) / s.Seconds
	s.P50Millis, s.P95Millis, s.P99Millis = millis(s.p50), millis(s.p95), millis(s.p99)
	return s
}

// percentile is the nearest-rank percentile of sorted times: the smallest that p percent of them do not exceed.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// print writes the table for people.
func (s *summary) print(w io.Writer) error {
	table := terminal.NewTable(w, "answer", "count")
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		table.Row(terminal.StatusText(status), s.Statuses[status])
	}
	for _, row := range []struct {
		name string
		n    int
	}{{"no answer", s.Failed}, {"interrupted", s.Interrupted}, {"not sent", s.NotSent}} {
		if row.n > 0 {
			table.Row(row.name, row.n)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if s.Answered > 0 {
		fmt.Fprintf(w, "\n%d answers in %s: %.1f/s; p50 %s, p95 %s, p99 %s\n", s.Answered,
			terminal.FormatDuration(s.elapsed), s.PerSecond,
			terminal.FormatDuration(s.p50), terminal.FormatDuration(s.p95), terminal.FormatDuration(s.p99))
	}
	if len(s.Reasons) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table = terminal.NewTable(w, "count", "not acknowledged because")
	for _, reason := range slices.SortedFunc(maps.Keys(s.Reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Reasons[b], s.Reasons[a]), cmp.Compare(a, b))
	}) {
		table.Row(s.Reasons[reason], reason)
	}
	return table.Flush()
}
