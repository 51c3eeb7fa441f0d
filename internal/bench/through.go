package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/hiregate/hiregate/internal/hiring"
)

// throughput is what the whole way measured: from the webhook to the partner's 200.
type throughput struct {
	Rate   float64
	Events int // of the history of one export's workflow
	Lost   int
}

// endToEnd sends exports through a gateway with a real Temporal server to a partner in this process.
func endToEnd(binary, folder, database, temporal, headers string, body []byte, exports int) (throughput, error) {
	if temporal == "" {
		return throughput{}, errors.New("say where temporal-dev is: -temporal-dev bin/temporal-dev (make build makes it)")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return throughput{}, err
	}
	engine, stop, err := startTemporal(temporal, folder)
	if err != nil {
		return throughput{}, err
	}
	defer stop()
	p := &partner{seen: map[string]bool{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return throughput{}, err
	}
	go http.Serve(l, p)
	defer l.Close()
	s, err := serve(binary, options{folder: folder, site: gatewaySite, temporal: engine, partner: l.Addr().String(), database: database})
	if err != nil {
		return throughput{}, err
	}
	defer s.stop()

	began := time.Now()
	if err := send(s.address, headers, body, exports); err != nil {
		return throughput{}, err
	}
	wait := eventually(5*time.Minute, func() error {
		if n := p.count(); n < exports {
			return fmt.Errorf("%d of %d exports arrived", n, exports)
		}
		return nil
	})
	t := throughput{Rate: float64(p.count()) / time.Since(began).Seconds(), Lost: exports - p.count()}
	if wait != nil {
		say("  %v", wait)
	}
	t.Events, err = events(engine, hiring.WorkflowID("acme", "bench-0", 0))
	return t, err
}

func startTemporal(binary, folder string) (address string, stop func(), err error) {
	if address, err = freeAddress(); err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	c := exec.Command(binary, "--db", filepath.Join(folder, "temporal.db"), "--port", port, "--ui-port", "0", "--log-level", "error")
	c.Stdout, c.Stderr = io.Discard, io.Discard
	if err := c.Start(); err != nil {
		return "", nil, fmt.Errorf("starting temporal-dev: %w", err)
	}
	return address, func() { c.Process.Signal(syscall.SIGTERM); c.Wait() }, nil
}

func send(address, headers string, body []byte, exports int) error {
	ids := make(chan int)
	errs := make(chan error, connections)
	var group sync.WaitGroup
	for range connections {
		group.Go(func() {
			for id := range ids {
				r, err := http.NewRequest(http.MethodPost, "http://"+address+"/hooks/acme", strings.NewReader(string(body)))
				if err != nil {
					errs <- err
					return
				}
				for line := range strings.Lines(headers) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
					r.Header.Set(name, value)
				}
				r.Header.Set("X-Service-UUID", fmt.Sprintf("bench-%d", id))
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					errs <- err
					return
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusAccepted {
					errs <- fmt.Errorf("an export was answered %d", resp.StatusCode)
					return
				}
			}
		})
	}
	defer group.Wait()
	defer close(ids)
	for id := range exports {
		select {
		case ids <- id:
		case err := <-errs:
			return err
		}
	}
	return nil
}

// partner counts the exports that arrive.
type partner struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (p *partner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	p.mu.Lock()
	p.seen[r.Header.Get("X-Service-UUID")] = true
	p.mu.Unlock()
}

func (p *partner) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.seen)
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
	for history := c.GetWorkflowHistory(ctx, workflow, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); n++ {
		if _, err := history.Next(); err != nil {
			return 0, err
		}
	}
	return n, nil
}
