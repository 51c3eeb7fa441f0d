package send

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// run is one run of `hiregate send`: what is sent, what came back, and the documents in between.
type run struct {
	flags    *flags
	sender   *sender
	offer    *offer    // nil: no documents to serve
	out, log io.Writer // results; everything else
}

// prepareExport puts the body and what goes with it into the delivery, and starts to serve its documents.
func (r *run) prepareExport() error {
	p, err := newPayload(r.flags.payload, r.flags.serviceName, len(r.flags.documents))
	if err != nil {
		return err
	}
	d := &r.sender.delivery
	switch serve := len(r.flags.documents) > 0; {
	case serve && p.problem != nil:
		return fmt.Errorf("--document can't be used, because the payload has no attachment URLs to rewrite (%w): correct "+
			"it, or send it without documents", p.problem)
	case serve && len(p.spans.Attachments) == 0:
		return errors.New("--document can't be used, because the payload has no attachments: add some, or leave out " +
			"--payload to send a minimal export that has them")
	case serve:
		if r.offer, err = newOffer(r.flags.documents, len(p.spans.Attachments)); err != nil {
			return err
		}
		p.body = p.spans.Rewrite(p.body, r.offer.urls())
	case p.problem != nil:
		fmt.Fprintf(r.log, "The payload is not an export, and is still sent: %s\n", p.problem)
	}
	d.Body = p.body
	if p.link != "" {
		d.Link = []byte(p.link)
	}
	if p.context != "" {
		d.ExportContext = []byte(p.context)
	}
	return nil
}

// run sends, prints and serves. Its error is for exit code 1: something was not acknowledged.
func (r *run) run(ctx context.Context) (err error) {
	defer r.sender.client.CloseIdleConnections()
	if r.offer != nil {
		defer func() { err = errors.Join(err, r.offer.close()) }()
	}
	t := newTally()
	if err := r.collect(ctx, t); err != nil {
		return err
	}
	if r.flags.count > 1 {
		if err := r.printSummary(t.summary(r.flags.count)); err != nil {
			return err
		}
	}
	if r.offer != nil && t.accepted > 0 {
		if err := r.awaitDocuments(ctx, t.accepted, t.receipt); err != nil {
			return err
		}
	}
	if missing := r.flags.count - t.accepted; missing > 0 {
		return fmt.Errorf("%d of %d were not acknowledged", missing, r.flags.count)
	}
	return nil
}

// collect prints and counts the answers until the last. When one can't be printed it stops sending.
func (r *run) collect(ctx context.Context, t *tally) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	many := r.flags.count > 1
	bar := &progress{w: io.Discard}
	if many {
		bar = newProgress(r.log, r.flags.count)
		defer bar.finish()
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for answers := r.sender.run(ctx); ; {
		select {
		case <-tick.C:
			bar.tick()
		case a, more := <-answers:
			if !more {
				return err
			}
			t.add(a)
			bar.step(a.Accepted)
			if err != nil {
				continue
			}
			if err = r.printAnswer(a, many); err != nil {
				stop()
			}
		}
	}
}

func (r *run) printAnswer(a *answer, many bool) error {
	switch {
	case r.flags.json:
		return terminal.WriteJSON(r.out, a)
	case many:
		return nil // there is a summary
	default:
		return a.print(r.out)
	}
}

func (r *run) printSummary(s *summary) error {
	if r.flags.json {
		return terminal.WriteJSON(r.out, s)
	}
	return s.print(r.out)
}

// fetches counts the downloads of the documents that were served.
type fetches struct {
	Kind     string `json:"kind"` // "documents"
	Expected int    `json:"expected"`
	Fetched  int    `json:"fetched"`
	GivenUp  int    `json:"givenUp,omitempty"` // by the gateway, of the last export
}

// awaitDocuments serves until every acknowledged export had all its documents fetched, the gateway gave up what is left
// of the one with a receipt, or --wait is over.
func (r *run) awaitDocuments(ctx context.Context, accepted int, receipt string) error {
	exports := accepted
	if r.flags.uuid != "" {
		exports = 1 // the others are repetitions
	}
	f := fetches{Kind: "documents", Expected: exports * len(r.offer.fetched)}
	waiting, cancel := context.WithTimeout(ctx, r.flags.wait)
	defer cancel()
	if terminal.IsTerminal(r.log) {
		fmt.Fprintf(r.log, "Serving the documents until they are fetched, up to %s …\n", r.flags.wait)
	}
	given := make(chan int, 1)
	go func() {
		if n := r.givenUp(waiting, receipt); n > 0 {
			given <- n
			cancel()
		}
	}()
	f.Fetched = r.offer.wait(waiting, exports)
	select {
	case f.GivenUp = <-given:
	default:
	}
	switch {
	case r.flags.json:
		return terminal.WriteJSON(r.out, f)
	case f.Fetched == f.Expected:
		fmt.Fprintf(r.out, "\nEvery document was fetched (%d of %d); the sender is gone.\n", f.Fetched, f.Expected)
	case ctx.Err() != nil:
		fmt.Fprintf(r.out, "\nInterrupted when %d of %d documents were fetched; the sender is gone.\n", f.Fetched, f.Expected)
	case f.GivenUp > 0:
		fmt.Fprintf(r.out, "\nThe gateway gave up %d documents of the last export, and fetched %d of %d; the sender is gone. They were "+
			"served on 127.0.0.1: allow it with egress allow, or see what its log says.\n", f.GivenUp, f.Fetched, f.Expected)
	default:
		fmt.Fprintf(r.out,
			"\nOnly %d of %d documents were fetched within %s; the sender is gone. They were served on 127.0.0.1: "+
				"the receiver must run on this machine and be allowed to fetch from there.\n", f.Fetched, f.Expected, r.flags.wait)
	}
	return nil
}

// askEvery is how often a gateway is asked what became of an export.
const askEvery = time.Second

// givenUp asks a gateway about an export, by its receipt, until that has no document left to fetch. It returns how many were
// given up; 0: none, or ctx ended before.
func (r *run) givenUp(ctx context.Context, receipt string) int {
	hook, err := url.Parse(r.sender.delivery.URL)
	if err != nil || receipt == "" {
		return 0
	}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-tick.C:
		}
		var export struct {
			Documents struct{ Referenced, Fetched, GivenUp int }
		}
		d := &export.Documents
		if r.ask(ctx, hook.JoinPath("receipts", receipt).String(), &export) == nil && d.Referenced > 0 &&
			d.Fetched+d.GivenUp >= d.Referenced {
			return d.GivenUp
		}
	}
}

// ask reads JSON at an address.
func (r *run) ask(ctx context.Context, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := r.sender.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}
