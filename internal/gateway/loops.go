package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/model"
)

// table is all that a gateway does again and again. Each task has its own loop: thousands of verifications do not delay
// releases, nor the other way round.
func (r *Runtime) table() []loop.Loop {
	always := append(r.sealing(), r.watchDamage(), r.Directory.Loop(), r.logouts.Loop(),
		loop.Loop{Name: "database", First: loop.AtOnce, Every: tendEvery, Round: r.watch})
	if r.Settings.SignInAlone() {
		return append(always, r.Retention.OldLoop())
	}
	return slices.Concat(
		r.Dispatcher.Loops(), []loop.Loop{r.exports.Loop(), r.Releaser.Loop()}, r.Reconciler.Loops(),
		[]loop.Loop{
			r.tended("verifications", r.verify, "verifications could not be started; they are tried again"),
			r.tended("held", r.Releaser.TendHeld, "held deliveries could not be released or ended; they are tried again"),
			r.tended("quarantine", r.Redeliverer.CountQuarantined, "the quarantine could not be counted; the metric is stale"),
			r.tended("redeliveries", r.redeliveries.Tend, "redeliveries could not be started; they are started in a moment"),
			r.measure(),
			{Name: "arrivals", Every: time.Second, Round: r.tellArrivals},
			{Name: "lists", First: loop.AtOnce, Every: time.Minute, Round: r.lists, Level: gravely,
				Failed: "some stored candidates, jobs or job applications are not found in lists; it is tried again"},
			{Name: "closings", First: loop.AtOnce, Every: time.Minute, Round: r.closeJobs,
				Failed: "jobs could not be closed; the Apply API takes nothing for them, and it is tried again"},
			r.Signatures.Loop(), r.scans.Loop(), r.Retention.Loop(),
			r.submissions.Loop(), r.Relay.Loop(), r.Relay.Measuring(),
		},
		r.Archive.Loops(), r.notifier.Loops(), []loop.Loop{r.changes.Loop()}, always)
}

// tended is a loop whose rounds come every ten seconds while the workers are up.
func (r *Runtime) tended(name string, round func(context.Context) error, failed string) loop.Loop {
	return loop.Loop{Name: name, First: firstBackoff, Every: tendEvery, Round: round, Failed: failed,
		Away: func() bool { return !r.workersUp.Load() || r.unconfigured() }}
}

func (r *Runtime) unconfigured() bool { return r.InForce.Current() == nil }

// hangingLoops finds the loops that hang.
func hangingLoops(r *Runtime, _ context.Context, _ time.Time) ([]model.Need, error) {
	return hanging(r.loops.Late(time.Now())), nil
}

func hanging(loops []loop.Late) (needs []model.Need) {
	for _, l := range loops {
		needs = append(needs, model.Need{Kind: model.NeedLoop, Since: l.Since, Action: "hiregate healthcheck",
			Sentence: fmt.Sprintf("the loop %s of this gateway's background work, which comes round every %s, hangs since %s: restart "+
				"the gateway, and report what its log says of this loop", l.Name, l.Every, l.Since.UTC().Format(time.RFC3339))})
	}
	return needs
}
