package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// flow is a gateway with its Temporal and the partners of its tenants, which note when each export arrives.
type flow struct {
	flowOptions
	server   *server   // the first of nodes
	nodes    []*server // share a database
	temporal *server
	s3       *server // nil: documents are in folders

	mu       sync.Mutex
	acked    map[string]acked
	arrived  map[string]time.Time
	acks     []time.Duration // from request to acknowledgement
	attempts int
	repeated int            // exports that arrived again after they were answered 200
	again    map[string]int // how often each of them did
	refusing string         // tenant whose partner answers 503
	down     atomic.Bool    // all partners answer 503
	links    []string       // to documents in the bucket, in exports that arrived
	closers  []func()
}

// acked is an acknowledged export: its tenant, and the time.
type acked struct {
	tenant string
	at     time.Time
}

const warmUp = `{"candidate":{"person":{"id":{"value":"c","schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`

// flowOptions are the settings of a flow.
type flowOptions struct {
	tenants int           // t0, t1, …; each has one integration
	option  string        // of the integrations
	failing int           // percent of attempts that the partners answer with 503
	hanging string        // tenant whose partner does not answer
	filled  string        // address of an existing database
	takes   time.Duration // of each attempt at a partner
	nodes   int           // gateways that share the database and the load; 0: one
	bucket  bool          // documents are in a bucket, and the links to them are noted
}

// flowLoad describes the exports to send through a flow.
type flowLoad struct {
	exports, connections int
	during               time.Duration // nothing is sent after that; 0: until all exports are
	perSecond            int           // 0: as many as are accepted
	underWay             int           // nothing is sent while so many have not arrived; 0: no matter
	first, tenants       int           // they take turns, from the first one on
	body                 []byte
	documented           []byte          // instead of body in each fifth export; nil: in none
	persistent           bool            // what is not acknowledged is sent again
	end                  <-chan struct{} // nothing is sent after it is closed; nil: no matter
}

func (l flowLoad) ended() bool {
	select {
	case <-l.end:
		return true
	default:
		return false
	}
}

func (b *bench) newFlow(o flowOptions) (*flow, error) {
	f := &flow{flowOptions: o}
	partners, stop, err := listen(f)
	if err != nil {
		return nil, err
	}
	f.closers = append(f.closers, stop)
	if f.temporal, err = b.startTemporal(); err != nil {
		f.close()
		return nil, err
	}
	f.closers = append(f.closers, f.temporal.stop)
	bucket := ""
	if o.bucket {
		if f.s3, err = b.startBucket(); err != nil {
			f.close()
			return nil, err
		}
		f.closers, bucket = append(f.closers, f.s3.stop), f.s3.address
	}
	var declared strings.Builder
	for n := range o.tenants {
		name := fmt.Sprint("t", n)
		declared.WriteString(tenant(name, partners+"/"+name, o.option))
	}
	if o.filled == "" && b.onPostgres {
		if o.filled, err = b.database(true, ""); err != nil {
			f.close()
			return nil, err
		}
	}
	f.filled = o.filled
	for range max(1, o.nodes) {
		node, err := b.serve(options{site: gatewaySite, filled: o.filled, temporal: f.temporal.address,
			tenants: declared.String(), bucket: bucket})
		if err != nil {
			f.close()
			return nil, err
		}
		f.closers, f.nodes = append(f.closers, node.stop), append(f.nodes, node)
	}
	f.server = f.nodes[0]
	// Temporal is up once one export has gone all the way.
	f.hanging = ""
	if _, err = f.run(flowLoad{exports: 1, connections: 1, tenants: 1, body: []byte(warmUp)}); err != nil {
		f.close()
		return nil, err
	}
	f.hanging = o.hanging
	return f, nil
}

// listen serves on a free port.
func listen(h http.Handler) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	return l.Addr().String(), func() { server.Close() }, nil
}

func (f *flow) close() {
	for _, one := range slices.Backward(f.closers) {
		one()
	}
}

// ServeHTTP is a partner.
func (f *flow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var links []string
	if f.flowOptions.bucket {
		links = linksIn(r.Body)
	}
	io.Copy(io.Discard, r.Body)
	tenant := strings.TrimPrefix(r.URL.Path, "/")
	if f.hanging != "" && tenant == f.hanging {
		<-r.Context().Done()
		return
	}
	time.Sleep(f.takes)
	if f.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts++
	if tenant == f.refusing || f.failing > 0 && f.attempts%100*f.failing%100 < f.failing {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	uuid := r.Header.Get("X-Service-UUID")
	if _, again := f.arrived[uuid]; again {
		f.repeated++
		f.again[uuid]++
		return
	}
	f.arrived[uuid] = now
	f.links = append(f.links, links...)
}

// refuse lets the partner of a tenant answer 503 from now on.
func (f *flow) refuse(tenant string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refusing = tenant
}

// run sends exports, waits until they have arrived, and measures that.
func (f *flow) run(l flowLoad) (flowed, error) {
	f.reset()
	began := time.Now()
	acking, err := f.send(l)
	if err != nil {
		return flowed{}, err
	}
	if err := f.arrivals(); err != nil {
		say("  %v", err)
	}
	return f.measured(began, acking, ""), nil
}

// reset forgets what was acknowledged and arrived.
func (f *flow) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked, f.arrived, f.acks = map[string]acked{}, map[string]time.Time{}, nil
	f.repeated, f.again = 0, map[string]int{}
}

// send sends exports, and returns how long that took. The nodes share its connections.
func (f *flow) send(l flowLoad) (took time.Duration, err error) {
	var lines []*line
	for n := range l.connections {
		c, err := f.connect(n, l)
		if err != nil {
			return 0, err
		}
		defer c.close()
		lines = append(lines, c)
	}
	var next atomic.Int64
	began := time.Now()
	var group errgroup.Group
	for _, c := range lines {
		group.Go(func() error {
			for {
				n := int(next.Add(1)) - 1
				if n >= l.exports || l.during > 0 && time.Since(began) > l.during || l.ended() {
					return nil
				}
				if l.perSecond > 0 {
					time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(l.perSecond))))
				}
				for l.underWay > 0 && f.underWay() >= l.underWay {
					time.Sleep(time.Millisecond)
				}
				tenant := fmt.Sprint("t", l.first+n%l.tenants)
				uuid, took, ok, err := c.sendExport(tenant)
				if err != nil {
					return err
				}
				if ok {
					f.ack(tenant, uuid, took)
				}
			}
		})
	}
	err = group.Wait()
	return time.Since(began), err
}

// ack notes that an export was acknowledged, unless its partner is away.
func (f *flow) ack(tenant, uuid string, took time.Duration) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acks = append(f.acks, took)
	if tenant != f.hanging && tenant != f.refusing {
		f.acked[uuid] = acked{tenant, now}
	}
}

func (f *flow) underWay() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.acked) - len(f.arrived)
}

// arrivals waits until all that was acknowledged has arrived, for five minutes after the last that arrives.
func (f *flow) arrivals() error {
	for {
		missing := f.underWay()
		err := eventually(5*time.Minute, func() error {
			if left := f.underWay(); left > 0 && left >= missing {
				return fmt.Errorf("%d exports have not arrived", left)
			}
			return nil
		})
		if err != nil || missing == 0 {
			return err
		}
	}
}

// flowed has the figures of a flow, without the tenants whose partner is away.
type flowed struct {
	Exports     int     `json:"exports"`
	AckRate     float64 `json:"acknowledgedPerSecond,omitempty"`
	AckP50      float64 `json:"ackP50Seconds,omitempty"` // from request to acknowledgement
	AckP99      float64 `json:"ackP99Seconds,omitempty"`
	Rate        float64 `json:"deliveredPerSecond,omitempty"` // from the first that was sent to the last that arrived
	P50         float64 `json:"p50Seconds"`                   // from acknowledgement to arrival
	P99         float64 `json:"p99Seconds"`
	Last        float64 `json:"lastSeconds"`
	Repeated    int     `json:"repeated"`
	Undelivered int     `json:"undelivered"`

	took []time.Duration
}

// measured returns the figures of a tenant's exports; empty: of all.
func (f *flow) measured(began time.Time, acking time.Duration, tenant string) flowed {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := flowed{Repeated: f.repeated}
	last := began
	for uuid, one := range f.acked {
		if tenant != "" && one.tenant != tenant {
			continue
		}
		m.Exports++
		if at, ok := f.arrived[uuid]; ok {
			m.took = append(m.took, max(0, at.Sub(one.at)))
			if at.After(last) {
				last = at
			}
		}
	}
	if acking > 0 {
		acks := resultOf(slices.Clone(f.acks), 0, acking.Seconds())
		m.AckP50, m.AckP99 = acks.P50.Seconds(), acks.P99.Seconds()
		m.AckRate, m.Rate = float64(m.Exports)/acking.Seconds(), float64(len(m.took))/last.Sub(began).Seconds()
	}
	return m.summed()
}

// with is two measurements as one.
func (m flowed) with(other flowed) flowed {
	return flowed{Exports: m.Exports + other.Exports, Repeated: m.Repeated + other.Repeated,
		took: slices.Concat(m.took, other.took)}.summed()
}

func (m flowed) summed() flowed {
	slices.Sort(m.took)
	m.Undelivered = m.Exports - len(m.took)
	if n := len(m.took); n > 0 {
		m.P50, m.P99, m.Last = m.took[n/2].Seconds(), m.took[n*99/100].Seconds(), m.took[n-1].Seconds()
	}
	return m
}
