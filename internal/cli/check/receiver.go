package check

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

// receiver is a partner's endpoint that is checked.
type receiver struct {
	url                string
	names              webhook.Names
	secret, nextSecret string
	client             *http.Client
	run                string        // marks the candidates of this run
	prompt             time.Duration // within which 19 of 20 answers should come
	most               int           // bytes of a body that a receiver should take

	shelf           *shelf        // of documents; nil: the receiver can't reach it
	offered         *finding      // how the export with the documents was answered; nil: it was not sent
	till            time.Time     // when the first document should have been asked for
	patience, quiet time.Duration // within which a document should be asked for, and after 410 should not
}

// atOnce is the most requests that are sent at once.
const atOnce = 16

func newReceiver(url string, names webhook.Names) *receiver {
	return &receiver{url: url, names: names, client: send.NewClient(atOnce), run: rand.Text()[:8], prompt: 5 * time.Second,
		most: 5 << 20, quiet: 5 * time.Second}
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

func (a attempt) refused() bool     { return a.err == nil && a.Status/100 == 4 }
func (a attempt) serverError() bool { return a.err != nil || a.Status/100 == 5 }

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

// send signs and sends a delivery. Each edit changes the signed request.
func (r *receiver) send(ctx context.Context, d webhook.Delivery, edits ...func(*http.Request)) attempt {
	client := r.client
	for _, edit := range edits {
		client = &http.Client{Transport: edited{client.Transport, edit}}
	}
	d.URL = r.url
	answer, err := r.names.Send(ctx, client, d)
	if err == nil && !answer.Acknowledged() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return attempt{answer, err}
}

func (r *receiver) verification() webhook.Delivery {
	return webhook.Delivery{Secret: r.secret, Event: webhook.EventVerify, Body: r.names.VerifyBody()}
}

// export is the delivery of a body under a new UUID.
func (r *receiver) export(body []byte) webhook.Delivery {
	return webhook.Delivery{Secret: r.secret, Event: webhook.EventExport, Body: body,
		UUID: []byte("check-" + r.run + "-" + rand.Text())}
}

// signature is an edit that replaces the signature; an empty one removes the header.
func (r *receiver) signature(value string) func(*http.Request) {
	return func(req *http.Request) {
		if req.Header[r.names.Signature] = []string{value}; value == "" {
			delete(req.Header, r.names.Signature)
		}
	}
}

// accepts sends a body as an export and demands 2xx.
func (r *receiver) accepts(ctx context.Context, what string, body []byte, do string) finding {
	if a := r.send(ctx, r.export(body)); a.err != nil || !a.Acknowledged() {
		return finding{Sent: what, Got: a.got(), Do: do}
	}
	return finding{}
}

// refuses sends a delivery and demands 4xx.
func (r *receiver) refuses(ctx context.Context, what string, d webhook.Delivery, edit func(*http.Request), do string) finding {
	if a := r.send(ctx, d, edit); !a.refused() {
		return finding{Sent: what, Got: a.got(), Do: do}
	}
	return finding{}
}

// survives sends a delivery and demands an answer other than 5xx.
func (r *receiver) survives(ctx context.Context, what string, d webhook.Delivery, do string) finding {
	if a := r.send(ctx, d); a.serverError() {
		return finding{Sent: what, Got: a.got(), Do: do}
	}
	return finding{}
}

// together sends deliveries at once and demands 2xx for each.
func (r *receiver) together(ctx context.Context, what string, all []webhook.Delivery, do string) finding {
	attempts := make([]attempt, len(all))
	var sending sync.WaitGroup
	for n, d := range all {
		sending.Go(func() { attempts[n] = r.send(ctx, d) })
	}
	sending.Wait()
	bad := slices.DeleteFunc(attempts, func(a attempt) bool { return a.err == nil && a.Acknowledged() })
	if len(bad) > 0 {
		return finding{Sent: what, Got: fmt.Sprintf("%d of %d failed, such as: %s", len(bad), len(all), bad[0].got()), Do: do}
	}
	return finding{}
}
