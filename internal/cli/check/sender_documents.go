package check

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	documentLife    = 2*time.Hour + 30*time.Minute // of a document's URL (contract, "Events" rule 3)
	documentTimeout = 30 * time.Second             // of one request for a document
	mostDocuments   = 20                           // are fetched of all exports together
	mostFetched     = 40 << 20                     // bytes that are read of an answer: the largest document in base64 is smaller
)

// document is a document of an export, and how its URL answered. The URL is a credential, and not shown.
type document struct {
	place string // of the attachment in its export
	url   string
	at    time.Time // when its export came
	first download
}

// download is an answer of a document's URL, without credentials.
type download struct {
	err                string // why there is no answer; empty: there is one
	status             int
	after              time.Duration // for which the answer asks
	redirected         bool
	object             bool // it is a Document object
	mimeType, fileName string
	size               int64
	broken             string // why the document is not whole; empty: it is
}

func (d download) there() bool { return d.err == "" && d.status == http.StatusOK }

func (d download) got() string {
	if d.err != "" {
		return d.err
	}
	return terminal.StatusText(d.status)
}

// documentClient follows redirects: that there was one is another fault than that there is no document.
func documentClient() *http.Client { return &http.Client{Timeout: documentTimeout} }

// fetch asks for a document, and again where that is postponed.
func (p *playedReceiver) fetch(ctx context.Context, d *document) download {
	return patiently(ctx, func() download { return p.fetchOnce(ctx, d.url) },
		func(d download) time.Duration { return postponement(d.status, d.after) })
}

func (p *playedReceiver) fetchOnce(ctx context.Context, address string) (d download) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		d.err = "a URL that does not begin with https:// or http:// and a host"
		return d
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		d.err = "a URL that can't be asked for"
		return d
	}
	r.Header.Set("Accept", "application/json, */*;q=0.8")
	answer, err := terminal.Exchange(p.client, r)
	if err != nil {
		d.err = "no answer: " + terminal.Cause(err).Error()
		return d
	}
	defer answer.Body.Close()
	d.status, d.redirected = answer.StatusCode, answer.Request.URL.String() != u.String()
	d.after = webhook.RetryAfter(answer.Header.Get("Retry-After"), time.Now())
	if !d.there() {
		return d
	}
	count := func(in io.Reader) (err error) {
		d.size, err = io.Copy(io.Discard, in)
		return err
	}
	body := http.MaxBytesReader(nil, answer.Body, mostFetched)
	if media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); media == "application/json" {
		d.object = true
		d.mimeType, d.fileName, err = documents.DecodeObject(body, count)
	} else {
		err = count(body)
	}
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		d.size = max(d.size, documents.MaxSize+1)
	case err != nil:
		d.broken = terminal.Cause(err).Error()
	case d.size == 0:
		d.broken = "no bytes"
	}
	return d
}

// ends returns when a signed URL of a store ends, if it says so: of S3 and what speaks like it, of Google, of Azure and of
// CloudFront.
func ends(address string) (at time.Time, says bool) {
	u, err := url.Parse(address)
	if err != nil {
		return at, false
	}
	query := u.Query()
	for _, prefix := range []string{"X-Amz-", "X-Goog-"} {
		signed, err := time.Parse("20060102T150405Z", query.Get(prefix+"Date"))
		seconds, wrong := strconv.ParseUint(query.Get(prefix+"Expires"), 10, 31)
		if err == nil && wrong == nil {
			return signed.Add(time.Duration(seconds) * time.Second), true
		}
	}
	if at, err = time.Parse(time.RFC3339, query.Get("se")); err == nil {
		return at, true
	}
	if seconds, err := strconv.ParseInt(query.Get("Expires"), 10, 64); err == nil && query.Get("Signature") != "" {
		return time.Unix(seconds, 0), true
	}
	return time.Time{}, false
}

// eachDocument demands something of all documents of a kind. wrong returns what is wrong with one; empty: nothing.
func eachDocument(which func(*document) bool, wrong func(context.Context, *playedReceiver, *document) string,
	do string) func(context.Context, *playedReceiver) finding {
	return func(ctx context.Context, p *playedReceiver) finding {
		none := true
		for _, d := range p.documents {
			if d.first == (download{}) || !which(d) { // it may not have answered yet
				continue
			}
			none = false
			if got := wrong(ctx, p, d); got != "" {
				return finding{Sent: "the document at " + d.place, Got: got, Do: do}
			}
		}
		if none {
			return finding{Skipped: "no document was there: export a candidate with documents"}
		}
		return finding{}
	}
}

func anyDocument(*document) bool { return true }

func isThere(d *document) bool { return d.first.there() }

func isWhole(d *document) bool { return d.first.there() && d.first.broken == "" }

func redirects(_ context.Context, _ *playedReceiver, d *document) string {
	if d.first.redirected {
		return "a redirect"
	}
	return ""
}

func isMissing(_ context.Context, _ *playedReceiver, d *document) string {
	if !d.first.there() {
		return d.first.got()
	}
	return ""
}

func isMissingLater(ctx context.Context, p *playedReceiver, d *document) string {
	if again := p.fetch(ctx, d); !again.there() {
		return again.got() + " the second time"
	}
	return ""
}

func isBroken(_ context.Context, _ *playedReceiver, d *document) string { return d.first.broken }

func isNoObject(_ context.Context, _ *playedReceiver, d *document) string {
	switch {
	case !d.first.object:
		return "an answer that is not application/json"
	case d.first.mimeType == "":
		return "no mimeType"
	case d.first.fileName == "":
		return "no fileName"
	}
	return ""
}

// clockTolerance is how much two clocks may differ, and how old an export may be when it comes.
const clockTolerance = 5 * time.Minute

func endsEarly(_ context.Context, _ *playedReceiver, d *document) string {
	if end, says := ends(d.url); says && end.Sub(d.at) < documentLife-clockTolerance {
		return "an end after " + terminal.FormatDuration(end.Sub(d.at))
	}
	return ""
}

func isLarge(_ context.Context, _ *playedReceiver, d *document) string {
	if d.first.size > documents.MaxSize {
		return "a larger one"
	}
	return ""
}
