// Package schedules proves by random schedules that nothing acknowledged is lost: it does to gateways whatever their
// operators, partners and machines may do, in an order that comes from a seed, and looks at what goes in, what comes out and
// what stands in rows. Stores are real, the partner and Temporal are models, and time is the test's.
package schedules

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

const (
	tenants     = 3
	both        = "t1" // the tenant that has the integration crm beside hris
	inFlight    = 4
	atOnce      = time.Second      // within which a change reaches what is under way
	attemptTime = 20 * time.Second // that an attempt may take
)

// world is what a schedule happens to: gateways on one database, their Temporal, and the partners of their tenants.
type world struct {
	ctx     context.Context
	end     context.CancelFunc
	group   sync.WaitGroup
	address string // of the database
	folder  string // of documents
	vaults  vault.Shared
	flip    bool // a bit is flipped: every other export has a document
	server  *server
	names   webhook.Names
	began   time.Time

	validator *schemas.Validator

	mu        sync.Mutex
	rng       *rand.Rand
	nodes     []*node
	receivers map[model.Place]*receiver
	services  map[string]*applyService // by tenant
	submitted []*submitted
	gone      map[string]bool // tenants that left the configuration
	entered   map[string]int  // tenant: how many steps its job application entered
	sent      map[string]*sent
	order     []*sent
	newest    int // where the last burst begins in order
	attempts  int
	excused   []time.Time // when something happened that may have an export arrive twice
	trace     []string
	broken    []string // invariants
}

// sent is an export that was acknowledged.
type sent struct {
	id           int64
	tenant, uuid string
	body         []byte
	triggered    bool
	to           []string // integrations; none: all
	quarantined  bool
	round        int // at least
	erased       time.Time
	attached     bool                 // it has a document
	tokens       []string             // of the URLs of that, as partners were told them
	again        map[string]int       // integration: how often it was asked to be redelivered
	arrived      map[string][]arrival // integration
}

// arrival is one request to a partner.
type arrival struct {
	at     time.Time
	status int // that it was answered with; 0: with none
}

// isFor reports whether an export was for an integration, before any redelivery.
func (e *sent) isFor(integration string) bool {
	return len(e.to) == 0 || slices.Contains(e.to, integration)
}

// receiver is an integration with the partner's system behind it.
type receiver struct {
	integration model.Integration
	secrets     []string // with which it takes signatures
	status      int      // that it answers with
	takes       time.Duration
	disabled    time.Time // since when an operator has it disabled; zero: it is not
	removed     time.Time
	underWay    map[*node]int

	attempts, took int // how many it saw, and answered with 200
}

// validator is made once: that takes longer than a schedule.
var validator = sync.OnceValues(func() (*schemas.Validator, error) { return schemas.New("Service") })

func newWorld(ctx context.Context, seed uint64, address, folder string) (*world, error) {
	names, err := webhook.NamesFor("Service")
	if err != nil {
		return nil, err
	}
	schema, err := validator()
	if err != nil {
		return nil, err
	}
	w := &world{address: address, folder: folder, names: names, validator: schema, entered: map[string]int{}, rng: rand.New(rand.NewPCG(seed, 1)), began: time.Now(),
		receivers: map[model.Place]*receiver{}, services: map[string]*applyService{}, gone: map[string]bool{}, sent: map[string]*sent{}}
	w.ctx, w.end = context.WithCancel(ctx)
	w.server = newServer(w)
	for n := range tenants {
		w.services[fmt.Sprint("t", n)] = &applyService{status: http.StatusNoContent, takes: 20 * time.Millisecond}
		for _, name := range []string{"hris", "crm"}[:1+n%2] {
			at := model.Place{Tenant: fmt.Sprint("t", n), Integration: name}
			w.receivers[at] = &receiver{status: http.StatusOK, takes: 20 * time.Millisecond, secrets: []string{"secret-0"},
				underWay: map[*node]int{}, integration: model.Integration{Tenant: at.Tenant, Name: name,
					URL: fmt.Sprintf("https://%s.example/%s", name, at.Tenant), Secret: "secret-0",
					Options: model.Options{Documents: model.Passthrough, InFlight: inFlight,
						Retry: []time.Duration{time.Second, 5 * time.Second, 20 * time.Second}},
					Verify: true}}
		}
	}
	return w, nil
}

// add notes that an export was acknowledged.
func (w *world) add(e *sent) {
	w.sent[e.tenant+"/"+e.uuid], w.order = e, append(w.order, e)
}

// config is the configuration of a node as it is to be now.
func (w *world) config(n *node) *config.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &config.Config{Names: w.names, Egress: egress.New(egress.Policy{}), PublicURL: gate,
		Tenants: map[string]*model.Tenant{}}
	c.Egress.Client().Transport = &partners{w, n}
	for at, r := range w.receivers {
		if w.gone[at.Tenant] || !r.removed.IsZero() {
			continue
		}
		t := c.Tenants[at.Tenant]
		if t == nil {
			t = &model.Tenant{Name: at.Tenant, ApplyUpstream: upstreamOf(at.Tenant)}
			c.Tenants[at.Tenant] = t
		}
		t.Integrations = append(t.Integrations, r.integration)
	}
	for _, t := range c.Tenants {
		slices.SortFunc(t.Integrations, func(a, b model.Integration) int { return strings.Compare(b.Name, a.Name) })
	}
	return c
}

// reload puts the configuration in force on all nodes.
func (w *world) reload() {
	for _, n := range w.alive() {
		n.reload()
	}
}

func (w *world) alive() (all []*node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.nodes {
		if !n.isDead() {
			all = append(all, n)
		}
	}
	return all
}

// anyNode returns one of the nodes that are alive; nil: none is.
func (w *world) anyNode() *node {
	all := w.alive()
	if len(all) == 0 {
		return nil
	}
	return all[w.random(len(all))]
}

func (w *world) random(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// note writes a line of the trace.
func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(format, args...)
}

func (w *world) noteLocked(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%9s  ", time.Since(w.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// violated notes that an invariant does not hold.
func (w *world) violated(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
	w.noteLocked("VIOLATED: "+format, args...)
}

// excuse notes that what is under way may arrive twice.
func (w *world) excuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excused = append(w.excused, time.Now())
}

// partners is the way from a node to all partners.
type partners struct {
	w *world
	n *node
}

var errBrokenOff = errors.New("the connection was broken off")

func (p *partners) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == applyHost {
		return p.serve(r)
	}
	if r.URL.Host == files {
		uuid := strings.TrimPrefix(r.URL.Path, "/")
		return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
			Body: io.NopCloser(bytes.NewReader(document(uuid))), ContentLength: int64(len(document(uuid))), Request: r}, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(r.URL.Host, ".")
	at := model.Place{Tenant: strings.TrimPrefix(r.URL.Path, "/"), Integration: name}
	status, takes, done := p.w.receive(p.n, at, r.Header, body)
	answered := 0
	defer func() { done(answered) }()
	select {
	case <-time.After(takes):
		answered = status
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case <-p.n.dead:
		return nil, errBrokenOff
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(nil)), Request: r}, nil
}

// receive looks at a request to a partner, and returns what it is answered with, and after which time.
func (w *world) receive(n *node, at model.Place, header http.Header, body []byte) (status int, takes time.Duration,
	done func(answered int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, now := w.receivers[at], time.Now()
	w.attempts++
	written := http.Header{} // the gateway writes their names as the contract does
	for name, values := range header {
		written[http.CanonicalHeaderKey(name)] = values
	}
	uuid := written.Get(w.names.UUID)
	e := w.sent[at.Tenant+"/"+uuid]
	switch {
	case e == nil:
		w.violated("%s/%s got %q, which nobody sent", at.Tenant, at.Integration, uuid)
		return http.StatusOK, 0, func(int) {}
	case !w.sameBody(e, body):
		w.violated("%s: other bytes went out than came in", uuid)
	case !webhook.Verify(written.Get(w.names.Signature), body, r.secrets...):
		w.violated("%s: the signature is not valid at %s/%s", uuid, at.Tenant, at.Integration)
	case !e.erased.IsZero() && now.Sub(e.erased) > atOnce:
		w.violated("%s went out %s after it was erased", uuid, now.Sub(e.erased))
	case !e.isFor(at.Integration) && e.again[at.Integration] == 0:
		w.violated("%s went to %s, which it is not for", uuid, at.Integration)
	case e.quarantined:
		w.violated("%s went out from quarantine", uuid)
	case !r.removed.IsZero() && now.Sub(r.removed) > atOnce:
		w.violated("%s went to %s %s after that was removed", uuid, at.Integration, now.Sub(r.removed))
	case !r.disabled.IsZero() && now.Sub(r.disabled) > atOnce:
		w.violated("%s went to %s/%s %s after that was disabled", uuid, at.Tenant, at.Integration, now.Sub(r.disabled))
	}
	if received := e.received(at.Integration); len(received) > e.again[at.Integration] && !w.excusable(received) {
		w.violated("%s went to %s/%s although that had received it %s before", uuid, at.Tenant, at.Integration,
			now.Sub(received[len(received)-1].at))
	}
	if r.underWay[n]++; r.underWay[n] > inFlight {
		w.violated("%d attempts are under way to %s/%s, and it takes %d", r.underWay[n], at.Tenant, at.Integration, inFlight)
	}
	if e.arrived == nil {
		e.arrived = map[string][]arrival{}
	}
	r.attempts++
	number := len(e.arrived[at.Integration])
	e.arrived[at.Integration] = append(e.arrived[at.Integration], arrival{at: now})
	return r.status, r.takes, func(answered int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		e.arrived[at.Integration][number].status = answered
		r.underWay[n]--
		if answered == http.StatusOK {
			r.took++
		}
	}
}

// received are the arrivals of an export that were answered 200.
func (e *sent) received(integration string) (all []arrival) {
	for _, one := range e.arrived[integration] {
		if one.status == http.StatusOK {
			all = append(all, one)
		}
	}
	return all
}

// excusable reports whether an export may arrive once more: something happened while it was received, so that the gateway may
// not know of that.
func (w *world) excusable(received []arrival) bool {
	return slices.ContainsFunc(received, func(one arrival) bool {
		return slices.ContainsFunc(w.excused, func(at time.Time) bool {
			return !at.Before(one.at) && at.Before(one.at.Add(2*attemptTime))
		})
	})
}

// setStatus writes where an integration stands.
func (w *world) setStatus(n *node, at model.Place, state model.IntegrationState, byOperator bool) error {
	i, ok := n.inForce.Current().Integration(at.Tenant, at.Integration)
	if !ok {
		return nil
	}
	return n.db.Write(n.ctx, func(tx *store.Tx) error {
		return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: state, Reason: "the schedule has it", ByOperator: byOperator,
			UpdatedAt: time.Now()})
	})
}
