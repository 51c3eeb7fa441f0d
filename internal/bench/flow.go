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
)

// flow is a gateway with its Temporal and the partners of its tenants, which note when each export arrives.
type flow struct {
	flowOptions
	server *server

	mu       sync.Mutex
	acked    map[string]time.Time
	arrived  map[string]time.Time
	attempts int
	repeated int // exports that arrived again after they were answered 200
	closers  []func()
}

const warmUp = `{"candidate":{"person":{"id":{"value":"c","schemeId":"Service Candidate","schemeAgencyId":"Service"}}}}`

// flowOptions are what flows differ in.
type flowOptions struct {
	tenants int    // t0, t1, …; each has one integration
	option  string // of the integrations
	failing int    // percent of attempts that the partners answer with 503
	hanging string // tenant whose partner does not answer
}

// flowLoad is what is sent through a flow.
type flowLoad struct {
	exports, connections int
	perSecond            int // 0: as many as are accepted
	tenants              int // they take turns
	body                 []byte
}

func (b *bench) newFlow(o flowOptions) (*flow, error) {
	f := &flow{flowOptions: o, acked: map[string]time.Time{}, arrived: map[string]time.Time{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	partner := &http.Server{Handler: f}
	go partner.Serve(l)
	f.closers = append(f.closers, func() { partner.Close() })
	temporal, stop, err := b.startTemporal()
	if err != nil {
		f.close()
		return nil, err
	}
	f.closers = append(f.closers, stop)
	var declared strings.Builder
	for n := range o.tenants {
		fmt.Fprintf(&declared, "tenant t%d {\nsecret %s\n%s}\n", n, secret,
			integrationTo("hris", l.Addr().String()+fmt.Sprintf("/t%d", n), o.option))
	}
	if f.server, err = b.serve(options{site: gatewaySite, postgres: b.onPostgres, temporal: temporal,
		others: declared.String()}); err != nil {
		f.close()
		return nil, err
	}
	f.closers = append(f.closers, f.server.stop)
	// Temporal is up once one export has gone all the way.
	hanging := f.hanging
	f.hanging = ""
	if _, err = f.send(flowLoad{exports: 1, connections: 1, tenants: 1, body: []byte(warmUp)}); err == nil {
		err = f.arrivals(time.Minute)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	f.acked, f.arrived, f.hanging = map[string]time.Time{}, map[string]time.Time{}, hanging
	return f, nil
}

func (f *flow) close() {
	for _, one := range slices.Backward(f.closers) {
		one()
	}
}

// ServeHTTP is a partner.
func (f *flow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	if f.hanging != "" && r.URL.Path == "/"+f.hanging {
		<-r.Context().Done()
		return
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attempts++
	if f.failing > 0 && f.attempts%100*f.failing%100 < f.failing {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	uuid := r.Header.Get("X-Service-UUID")
	if _, again := f.arrived[uuid]; again {
		f.repeated++
		return
	}
	f.arrived[uuid] = now
}

// send sends exports, and returns how long that took.
func (f *flow) send(l flowLoad) (took time.Duration, err error) {
	s, err := dial(f.server.address, signed(l.body), l.connections)
	if err != nil {
		return 0, err
	}
	defer s.close()
	var next atomic.Int64
	began := time.Now()
	errs := make(chan error, l.connections)
	for _, conn := range s.connections {
		go func() {
			errs <- func() error {
				for {
					n := int(next.Add(1)) - 1
					if n >= l.exports {
						return nil
					}
					if l.perSecond > 0 {
						time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(l.perSecond))))
					}
					tenant := fmt.Sprint("t", n%l.tenants)
					uuid := fmt.Sprintf("%s-%d", conn.id, conn.sent)
					_, status, err := s.send(conn, "/hooks/"+tenant, l.body)
					if err == nil && status != http.StatusAccepted {
						err = fmt.Errorf("an export was answered %d", status)
					}
					if err != nil {
						return err
					}
					if tenant != f.hanging {
						now := time.Now()
						f.mu.Lock()
						f.acked[uuid] = now
						f.mu.Unlock()
					}
				}
			}()
		}()
	}
	for range s.connections {
		if one := <-errs; one != nil {
			err = one
		}
	}
	return time.Since(began), err
}

// flowed is what a flow measured, but of the tenant whose partner does not answer.
type flowed struct {
	Exports     int     `json:"exports"`
	AckRate     float64 `json:"acknowledgedPerSecond"`
	Rate        float64 `json:"deliveredPerSecond"` // from the first that was sent to the last that arrived
	P50         float64 `json:"p50Seconds"`         // from acknowledgement to arrival
	P99         float64 `json:"p99Seconds"`
	Last        float64 `json:"lastSeconds"`
	Repeated    int     `json:"repeated"`
	Undelivered int     `json:"undelivered"`
}

// arrivals waits until all that was acknowledged has arrived.
func (f *flow) arrivals(patience time.Duration) error {
	return eventually(patience, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.arrived) < len(f.acked) {
			return fmt.Errorf("%d of %d exports arrived", len(f.arrived), len(f.acked))
		}
		return nil
	})
}

func (f *flow) measured(began time.Time, acking time.Duration) flowed {
	f.mu.Lock()
	defer f.mu.Unlock()
	var took []time.Duration
	last := began
	for uuid, acked := range f.acked {
		if at, ok := f.arrived[uuid]; ok {
			took = append(took, max(0, at.Sub(acked)))
			if at.After(last) {
				last = at
			}
		}
	}
	slices.Sort(took)
	m := flowed{Exports: len(f.acked), AckRate: float64(len(f.acked)) / acking.Seconds(),
		Rate:     float64(len(took)) / last.Sub(began).Seconds(),
		Repeated: f.repeated, Undelivered: len(f.acked) - len(took)}
	if len(took) > 0 {
		m.P50, m.P99, m.Last = took[len(took)/2].Seconds(), took[len(took)*99/100].Seconds(), took[len(took)-1].Seconds()
	}
	return m
}
