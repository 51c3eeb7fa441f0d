package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	slowAnswer = 12 * time.Second // of the partner of the tenant that loads
	few        = 20               // exports of the tenant that is measured
	fewRounds  = 25
)

// tenants measures how long a few exports of one tenant take to their partner while another one has slow partners: beside the same at a
// gateway that does nothing else, in turn, since the machine is shared.
func (b *bench) tenants() error {
	for _, load := range []struct {
		name                          string
		integrations, exports, filler int
		option                        string
	}{
		{"one integration, in_flight 1000, 1,000 exports", 1, 1000, 0, "in_flight 1000"},
		{"20 integrations, 100 exports to each", 20, 100, 0, ""},
		{"200 exports of 4.9 MB", 1, 200, 4_900_000, "in_flight 1000"},
	} {
		folder := filepath.Join(b.dir, fmt.Sprint("tenants-", load.integrations, "-", load.exports))
		idle, err := newShared(b, filepath.Join(folder, "idle"), 0, "")
		if err != nil {
			return err
		}
		loaded, err := newShared(b, filepath.Join(folder, "loaded"), load.integrations, load.option)
		if err != nil {
			idle.stop()
			return err
		}
		without, with, err := inTurn(idle, loaded, load.exports, load.filler)
		idle.stop()
		loaded.stop()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d exports of another tenant took %s, without the load %s (medians of %d): %.2f times\n", load.name, few,
			with.Round(time.Millisecond), without.Round(time.Millisecond), fewRounds, float64(with)/float64(without))
	}
	return nil
}

func inTurn(idle, loaded *shared, exports, filler int) (without, with time.Duration, err error) {
	if err := loaded.hand("acme", "load", exports, filler); err != nil {
		return 0, 0, err
	}
	if err := eventually(5*time.Minute, func() error {
		time.Sleep(2 * time.Second) // the gauge is set once a second
		waiting, err := loaded.server.metric("hiregate_inbox_undispatched")
		if err == nil && waiting > 0 {
			err = fmt.Errorf("%.0f exports wait for their workflow", waiting)
		}
		return err
	}); err != nil {
		return 0, 0, err
	}
	var alone, beside []time.Duration
	for round := range fewRounds {
		for one, took := range map[*shared]*[]time.Duration{idle: &alone, loaded: &beside} {
			began := time.Now()
			if err := one.hand("globex", fmt.Sprint("few-", round), few, 0); err != nil {
				return 0, 0, err
			}
			if err := eventually(5*time.Minute, func() error { return one.arrived((round + 1) * few) }); err != nil {
				return 0, 0, err
			}
			*took = append(*took, one.last.Sub(began))
		}
		time.Sleep(time.Second)
	}
	slices.Sort(alone)
	slices.Sort(beside)
	return alone[fewRounds/2], beside[fewRounds/2], nil
}

// shared is a gateway with two tenants: acme, whose partners are slow, and globex.
type shared struct {
	server *server
	mu     sync.Mutex
	fast   int       // exports that arrived from globex
	last   time.Time // when the last one did
	stop   func()
}

func newShared(b *bench, folder string, integrations int, option string) (*shared, error) {
	s := &shared{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	partner := &http.Server{Handler: s}
	go partner.Serve(l)
	var slow strings.Builder
	for n := range integrations {
		slow.WriteString(integrationTo(fmt.Sprint("hris-", n), l.Addr().String()+"/slow", option))
	}
	o := options{folder: folder, site: gatewaySite, acme: slow.String(),
		others: "tenant globex {\nsecret " + secret + "\n" + integrationTo("hris", l.Addr().String()+"/fast", "") + "}"}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	temporal, stopTemporal, err := startTemporal(b.temporal, folder)
	if err != nil {
		return nil, err
	}
	o.temporal = temporal
	if s.server, err = serve(b.binary, o); err != nil {
		stopTemporal()
		return nil, err
	}
	s.stop = func() { s.server.command.Process.Kill(); s.server.command.Wait(); stopTemporal(); partner.Close() }
	return s, nil
}

func integrationTo(name, where, option string) string {
	return "integration " + name + " {\nurl http://" + where + "\nsecret " + secret + "\nverify off\n" + option + "\n}\n"
}

func (s *shared) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	if r.URL.Path == "/slow" {
		select {
		case <-time.After(slowAnswer):
		case <-r.Context().Done():
		}
		return
	}
	s.mu.Lock()
	s.fast++
	s.last = time.Now()
	s.mu.Unlock()
}

func (s *shared) arrived(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fast < n {
		return fmt.Errorf("%d of %d exports arrived", s.fast, n)
	}
	return nil
}

// hand sends exports of a tenant, each with so many bytes of filler.
func (s *shared) hand(tenant, ids string, exports, filler int) error {
	body := []byte(`{"candidate":{"person":{"id":{"value":"c","schemeId":"Service Candidate","schemeAgencyId":"Service"}},"filler":"` + strings.Repeat("x", filler) + `"}}`)
	signature := webhook.Sign(secret, body)
	for n := range exports {
		r, err := http.NewRequest(http.MethodPost, "http://"+s.server.address+"/hooks/"+tenant, strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		r.Header.Set("X-Service-Event", webhook.EventExport)
		r.Header.Set("X-Service-Signature", signature)
		r.Header.Set("X-Service-UUID", fmt.Sprint(ids, "-", n))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			return fmt.Errorf("an export was answered %d", resp.StatusCode)
		}
	}
	return nil
}
