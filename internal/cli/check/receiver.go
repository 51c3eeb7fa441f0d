package check

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
)

// receiver is a partner's endpoint that is checked.
type receiver struct {
	url                string
	names              webhook.Names
	secret, nextSecret string
	client             *http.Client
	plainest           map[string]attempt // by event: see plain
	broke              atomic.Bool        // a connection broke, or none could be made, since it was there
	restart            time.Duration      // within which a receiver that ended should be there again
	run                string             // marks the candidates of this run
	prompt             time.Duration      // within which 19 of 20 answers should come
	most               int                // bytes of a body that a receiver should take

	shelf           *shelf        // of documents; nil: the receiver can't reach it
	offered         *finding      // how the export with the documents was answered; nil: it was not sent
	till            time.Time     // when the first document should have been asked for
	patience, quiet time.Duration // within which a document should be asked for, and after 410 should not
}

// atOnce is the most requests that are sent at once.
const atOnce = 16

func newReceiver(address string, names webhook.Names) *receiver {
	return &receiver{url: address, names: names, client: anywhere{}.Client(), plainest: map[string]attempt{},
		restart: 10 * time.Second, run: rand.Text()[:8], prompt: 5 * time.Second, most: 5 << 20, quiet: 5 * time.Second}
}

// attempt is a request and how it ended.
type attempt struct {
	webhook.Answer
	err error
}

// got describes the answer to a person.
func (a attempt) got() string {
	if a.err != nil {
		return a.err.Error()
	}
	return terminal.StatusText(a.Status) + " in " + terminal.FormatDuration(a.Duration)
}

func (a attempt) accepted() bool { return a.err == nil && a.Acknowledged() }
func (a attempt) refused() bool {
	return a.err == nil && a.Status/100 == 4 && a.Status != http.StatusTooManyRequests
}
func (a attempt) serverError() bool { return a.err != nil || a.Status/100 == 5 }

// broke reports whether the connection broke, or none could be made.
func (a attempt) broke() bool {
	failed := new(webhook.SendError)
	return errors.As(a.err, &failed) && (failed.Kind == webhook.KindConnect || failed.Kind == webhook.KindClosed)
}

// like reports whether both were answered the same, or not at all.
func (a attempt) like(b attempt) bool {
	return a.Status == b.Status && (a.err == nil) == (b.err == nil)
}

// postponed returns the time after which the receiver asks for the request again, if that can be waited for. VERIFY wants 200 at
// once, unless there were too many requests: those of the other checks are among them.
func (a attempt) postponed(event string) time.Duration {
	if a.err != nil || a.Status == http.StatusServiceUnavailable && event == webhook.EventVerify {
		return 0
	}
	return postponement(a.Status, a.RetryAfter)
}

// edited is a transport that changes each request before it is sent.
type edited struct {
	http.RoundTripper
	edit func(*http.Request)
}

func (e edited) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	e.edit(r)
	return e.RoundTripper.RoundTrip(r)
}

// send signs and sends a delivery, again where the receiver postpones it. Each edit changes the signed request.
func (r *receiver) send(ctx context.Context, d webhook.Delivery, edits ...func(*http.Request)) attempt {
	return patiently(ctx, func() attempt { return r.sendOnce(ctx, d, edits...) },
		func(a attempt) time.Duration { return a.postponed(d.Event) })
}

func (r *receiver) sendOnce(ctx context.Context, d webhook.Delivery, edits ...func(*http.Request)) attempt {
	client := r.client
	for _, edit := range edits {
		client = &http.Client{Transport: edited{client.Transport, edit}}
	}
	d.URL = r.url
	answer, err := r.names.Send(ctx, client, d)
	if err == nil && !answer.Acknowledged() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	a := attempt{answer, err}
	if a.broke() {
		r.broke.Store(true)
	}
	return a
}

// there implements lasting. A request may have made the receiver end, which takes a moment; another one may be started in its place.
func (r *receiver) there(ctx context.Context) error {
	if !r.broke.Swap(false) {
		return nil
	}
	target, err := url.Parse(r.url)
	if err != nil {
		return err
	}
	for end := time.Now().Add(r.restart); ; {
		if !wait.For(ctx, 500*time.Millisecond) {
			return nil
		}
		err := reach(ctx, target)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("the receiver can't be reached any more (%w)", terminal.Cause(err))
		}
	}
}

func (r *receiver) verification() webhook.Delivery {
	return webhook.Delivery{Secret: r.secret, Event: webhook.EventVerify, Body: r.names.VerifyBody()}
}

// exportContext is the job of an export that has one.
const exportContext = "CHECK-1"

// export is the delivery of a body under a new UUID, with the headers that each export has.
func (r *receiver) export(body []byte) webhook.Delivery {
	return webhook.Delivery{Secret: r.secret, Event: webhook.EventExport, Body: body, UUID: []byte("check-" + r.run + "-" + rand.Text()),
		Link: []byte("https://jobs.example.com/candidates/check-" + r.run)}
}

// longLink is longer than the columns that URLs are often stored in.
func (r *receiver) longLink() []byte {
	link := "https://jobs.example.com/candidates/check-" + r.run + "?list="
	return []byte(link + strings.Repeat("x", 300-len(link)))
}

// signature is an edit that replaces the signature; an empty one removes the header.
func (r *receiver) signature(value string) func(*http.Request) {
	return func(req *http.Request) {
		if req.Header[r.names.Signature] = []string{value}; value == "" {
			delete(req.Header, r.names.Signature)
		}
	}
}

// plain is the answer to the plainest delivery of an event: what is answered the same was not answered so for what is special in
// it. One is sent in a run, and others while it is answered with a server error or none can be sent. It has to be sent before a
// delivery that may end the receiver.
func (r *receiver) plain(ctx context.Context, event string) attempt {
	a, sent := r.plainest[event]
	if sent && a.Status/100 != 5 && !a.broke() {
		return a
	}
	d := r.verification()
	if event == webhook.EventExport {
		d = r.export(r.minimal())
	}
	a = r.send(ctx, d)
	r.plainest[event] = a
	return a
}

// rejected is the finding of an export that was not acknowledged. do is for what is special in it.
func (r *receiver) rejected(ctx context.Context, sent string, a attempt, do string) finding {
	if plain := r.plain(ctx, webhook.EventExport); !plain.accepted() && plain.like(a) {
		do = "first have the plainest export accepted, which is answered the same: see B-08"
	}
	return finding{Sent: sent, Got: a.got(), Do: a.remedy(do)}
}

// accepts sends an export and demands 2xx.
func (r *receiver) accepts(ctx context.Context, what string, d webhook.Delivery, do string) finding {
	r.plain(ctx, webhook.EventExport)
	if a := r.send(ctx, d); !a.accepted() {
		return r.rejected(ctx, what, a, do)
	}
	return finding{}
}

// refuses sends a delivery and demands 4xx. It proves nothing where a right delivery is answered the same.
func (r *receiver) refuses(ctx context.Context, what string, d webhook.Delivery, edit func(*http.Request), do string) finding {
	return r.demands(r.plain(ctx, d.Event), what, r.send(ctx, d, edit), attempt.refused, do)
}

// survives sends a delivery and demands an answer other than 5xx, and other than that to a right export if that is refused.
func (r *receiver) survives(ctx context.Context, what string, d webhook.Delivery, do string) finding {
	return r.demands(r.plain(ctx, webhook.EventExport), what, r.send(ctx, d), func(a attempt) bool { return !a.serverError() }, do)
}

func (r *receiver) demands(plain attempt, what string, a attempt, right func(attempt) bool, do string) finding {
	switch {
	case !plain.accepted() && plain.like(a):
		return finding{Skipped: "a right delivery is answered the same, so this says nothing: " + plain.got()}
	case !right(a):
		return finding{Sent: what, Got: a.got(), Do: a.remedy(do)}
	}
	return finding{}
}

// together sends deliveries at once and demands 2xx for each. Those that the receiver postpones follow one after the other.
func (r *receiver) together(ctx context.Context, what string, all []webhook.Delivery, do string) finding {
	attempts := make([]attempt, len(all))
	var sending sync.WaitGroup
	for n, d := range all {
		sending.Go(func() { attempts[n] = r.sendOnce(ctx, d) })
	}
	sending.Wait()
	bad := 0
	var last attempt
	for n, a := range attempts {
		if a.postponed(all[n].Event) > 0 {
			a = r.send(ctx, all[n])
		}
		if !a.accepted() {
			bad, last = bad+1, a
		}
	}
	if bad == 0 {
		return finding{}
	}
	found := r.rejected(ctx, what, last, do)
	found.Got = fmt.Sprintf("%d of %d failed, such as: %s", bad, len(all), found.Got)
	return found
}
