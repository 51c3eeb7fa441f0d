package check

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/wait"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// The address of a played receiver, with an identifier as a path segment and one as a query parameter, and the address that it redirects
// to once.
const (
	senderPath  = "/check"
	senderQuery = "client=check"
	movedPath   = "/check/moved"
)

// How a played receiver answers exports, one after the other. A service that repeats by itself goes through them alone; for another
// one a person exports again.
const (
	isAway     = iota // 503 with Retry-After
	hasMoved          // 302
	takesFirst        // 200
	takesTime         // 200 to another export, after slowTime
	takesAll          // 200
)

const (
	slowTime  = 5 * time.Second // a service should wait so long for an answer, and longer
	quietTime = 3 * time.Second // after all has come, nothing should come again
	awayTime  = 2 * time.Second // Retry-After of the 503
	mostEvent = 64 << 20        // bytes of an event that are read, far more than a receiver should take
)

// playedReceiver plays a partner's receiver towards a service, and notes what the service sends.
type playedReceiver struct {
	names             webhook.Names
	secret            string
	validator         *schemas.Validator
	slow, quiet, away time.Duration
	client            *http.Client  // of documents
	finished          chan struct{} // closed when all has come that is waited for
	explained         atomic.Int32  // wrong signatures
	each              func(e *event, next string)

	mu        sync.Mutex
	step      int
	refused   bool // a VERIFY was answered with something else than 200
	verified  bool // a VERIFY was answered 200
	moved     bool // a redirect was followed
	complete  bool
	seen      []*event
	documents []*document
	fetches   int // of documents, under way
	waiting   int // events that are answered later
}

func newPlayedReceiver(names webhook.Names, secret string, validator *schemas.Validator) *playedReceiver {
	return &playedReceiver{names: names, secret: secret, validator: validator, slow: slowTime, quiet: quietTime, away: awayTime,
		client: documentClient(), finished: make(chan struct{}), each: func(*event, string) {}}
}

// ServeHTTP implements http.Handler.
func (p *playedReceiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostEvent))
	switch {
	case err != nil:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	case strings.HasSuffix(r.URL.Path, movedPath):
		p.mu.Lock()
		p.moved = true
		p.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable) // it was not received
		return
	case r.Method != http.MethodPost && r.Header.Get(p.names.Event) == "" && r.Header.Get(p.names.Signature) == "":
		http.NotFound(w, r) // a browser, or whatever looks whether somebody is here
		return
	}
	e := p.read(r, body)
	e.status = http.StatusBadRequest
	after := p.decide(e, w.Header())
	hungUp := after > 0 && !wait.For(r.Context(), after)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	if e.hungUp = hungUp; hungUp {
		e.status = http.StatusServiceUnavailable // for a service that has closed one direction only
	}
	w.WriteHeader(e.status)
	p.finish()
	p.each(e, p.next())
}

// decide notes an event, and decides how it is answered, and after which time.
func (p *playedReceiver) decide(e *event, header http.Header) (after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.seen = append(p.seen, e)
	e.number = len(p.seen)
	switch {
	case e.kind == webhook.EventVerify && !p.refused:
		p.refused, e.status = true, http.StatusAccepted
	case e.kind == webhook.EventVerify:
		p.verified, e.status = true, http.StatusOK
	case e.kind != webhook.EventExport:
	case p.repeated(e) != nil:
		e.status = http.StatusOK
	default:
		e.status, after = p.take(header)
		p.offer(e)
	}
	return after
}

// take answers an export as the step says.
func (p *playedReceiver) take(header http.Header) (status int, after time.Duration) {
	step := p.step
	p.step = min(p.step+1, takesAll)
	switch step {
	case isAway:
		header.Set("Retry-After", strconv.Itoa(int((p.away+time.Second-1)/time.Second)))
		return http.StatusServiceUnavailable, 0
	case hasMoved:
		header.Set("Location", strings.TrimPrefix(movedPath, "/")) // relative: --url may have a path
		return http.StatusFound, 0
	case takesTime:
		return http.StatusOK, p.slow
	}
	return http.StatusOK, 0
}

// repeated returns the acknowledged event that another one repeats: an export with its UUID and its bytes; nil: there is none.
func (p *playedReceiver) repeated(e *event) *event {
	return p.first(func(o *event) bool {
		return o.number < e.number && o.acknowledged() && e.uuid != "" && o.sameExport(e) && o.sum == e.sum
	})
}

// next says what a person should do now.
func (p *playedReceiver) next() string {
	switch {
	case p.complete:
		return "That is all: the documents are fetched once more, and the report follows."
	case !p.verified && p.refused:
		return "The integration must not count as configured, since only 200 verifies it. Save it again."
	case !p.verified:
		return "The integration has to be verified. Save it."
	case p.step == isAway:
		return "Export an invented candidate, with a job and documents."
	case p.step <= takesFirst:
		return "It should come again by itself. If it does not, export the candidate again."
	case p.step == takesTime && p.repeated(p.seen[len(p.seen)-1]) != nil:
		return "It came under the UUID and with the body of one that was taken already. Export another candidate."
	case p.step == takesTime:
		return "Export once more, this candidate or another one."
	case len(p.documents) == 0:
		return "No export had documents: export a candidate with some."
	}
	return "The documents are fetched."
}

// finish ends the waiting when all has come.
func (p *playedReceiver) finish() {
	if !p.complete && p.verified && p.step == takesAll && len(p.documents) > 0 && p.fetches+p.waiting == 0 {
		p.complete = true
		time.AfterFunc(p.quiet, func() { close(p.finished) })
	}
}

// offer fetches the documents of an export that were not fetched yet. A receiver may do so before it has answered.
func (p *playedReceiver) offer(e *event) {
	for _, d := range e.documents {
		if len(p.documents) == mostDocuments || slices.ContainsFunc(p.documents, func(o *document) bool { return o.url == d.url }) {
			continue
		}
		p.documents = append(p.documents, d)
		p.fetches++
		go func() {
			found := p.fetch(context.Background(), d)
			p.mu.Lock()
			defer p.mu.Unlock()
			d.first = found
			p.fetches--
			p.finish()
		}()
	}
}
