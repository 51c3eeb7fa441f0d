package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/model"
)

// throughput is what the whole way measured: from the webhook to the partner's 200.
type throughput struct {
	Rate   float64
	Events int // of the history of one export's workflow
	Lost   int
}

// endToEnd sends exports through a gateway with a real Temporal server to a partner in this process.
func (b *bench) endToEnd(postgres bool, body []byte) (t throughput, err error) {
	temporal, stop, err := b.startTemporal()
	if err != nil {
		return t, err
	}
	defer stop()
	p, at, err := newPartner()
	if err != nil {
		return t, err
	}
	defer p.Close()
	s, err := b.serve(options{site: gatewaySite, temporal: temporal, partner: at, postgres: postgres})
	if err != nil {
		return t, err
	}
	defer s.stop()
	sender, err := dial(s.address, signed(body), connections)
	if err != nil {
		return t, err
	}
	defer sender.close()

	each := (b.exports + connections - 1) / connections
	exports := each * connections
	began := time.Now()
	if err := sender.export("acme", body, each); err != nil {
		return t, err
	}
	if err := eventually(5*time.Minute, func() error { return p.arrived(exports) }); err != nil {
		say("  %v", err)
	}
	arrived, last := p.count()
	t = throughput{Rate: float64(arrived) / last.Sub(began).Seconds(), Lost: exports - arrived}
	t.Events, err = events(temporal, model.WorkflowID("acme", sender.connections[0].id+"-0", 0))
	return t, err
}

// export sends as many exports on each connection.
func (s *sender) export(tenant string, body []byte, each int) error {
	r, err := s.loadWhile(same("/hooks/"+tenant, body), http.StatusAccepted, func(n int) bool { return n < each })
	if err == nil && r.Failed > 0 {
		err = fmt.Errorf("%d of %d exports were refused", r.Failed, r.Requests)
	}
	return err
}

// startTemporal starts a Temporal server, with further flags.
func (b *bench) startTemporal(flags ...string) (address string, stop func(), err error) {
	if b.temporal == "" {
		return "", nil, errors.New("say where temporal-dev is: -temporal-dev bin/temporal-dev (make build makes it)")
	}
	if address, err = freeAddress(); err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	c := exec.Command(b.temporal, append(flags, "--db", filepath.Join(b.dir, "temporal-"+port+".db"), "--port", port,
		"--ui-port", "0", "--log-level", "error")...)
	if err := c.Start(); err != nil {
		return "", nil, fmt.Errorf("starting temporal-dev: %w", err)
	}
	return address, func() { c.Process.Signal(syscall.SIGTERM); c.Wait() }, nil
}

// partner takes exports in, those sent to /slow slowly, and counts the others.
type partner struct {
	http.Server
	mu   sync.Mutex
	seen map[string]bool
	last time.Time // when the last one arrived
}

// newPartner makes one that listens until it is closed.
func newPartner() (p *partner, address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	p = &partner{seen: map[string]bool{}}
	p.Handler = http.HandlerFunc(p.take)
	go p.Serve(l)
	return p, l.Addr().String(), nil
}

func (p *partner) take(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	if r.URL.Path == "/slow" {
		select {
		case <-time.After(slowAnswer):
		case <-r.Context().Done():
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[r.Header.Get("X-Service-UUID")] = true
	p.last = time.Now()
}

func (p *partner) count() (n int, last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen), p.last
}

// arrived returns an error until n exports have arrived.
func (p *partner) arrived(n int) error {
	if arrived, _ := p.count(); arrived < n {
		return fmt.Errorf("%d of %d exports arrived", arrived, n)
	}
	return nil
}

// events counts the events in the history of a workflow that has ended.
func events(address, workflow string) (n int, err error) {
	c, err := client.Dial(client.Options{HostPort: address})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.GetWorkflow(ctx, workflow, "").Get(ctx, nil); err != nil {
		return 0, err
	}
	for history := c.GetWorkflowHistory(ctx, workflow, "", false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); n++ {
		if _, err := history.Next(); err != nil {
			return 0, err
		}
	}
	return n, nil
}
