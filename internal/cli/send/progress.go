package send

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// progressEvery is the interval of the lines that report the progress of a run without a terminal.
const progressEvery = 3 * time.Second

// progress shows how far a run of many requests is: a bar on a terminal, elsewhere a line every few seconds.
// It belongs to one goroutine.
type progress struct {
	w      io.Writer
	bar    *progressbar.ProgressBar // nil: w is no terminal
	total  int
	done   int
	failed int
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{w: w, total: total}
	if terminal.IsTerminal(w) {
		p.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription("sending"),
			progressbar.OptionShowCount(),
			progressbar.OptionShowIts(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// step counts an answer.
func (p *progress) step(ok bool) {
	p.done++
	if !ok {
		p.failed++
	}
	if p.bar != nil {
		// A bar that cannot be drawn is no reason to stop sending.
		_ = p.bar.Add(1)
	}
}

// tick is to be called every progressEvery; it says something even while nothing is answered.
func (p *progress) tick() {
	if p.bar == nil {
		fmt.Fprintf(p.w, "%d of %d answered, %d not acknowledged\n", p.done, p.total, p.failed)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
