package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// turn is how long a server is loaded before the next one is. What else the machine does changes from one second to the next, so
// that only what lies close together can be compared.
const turn = 500 * time.Millisecond

// measured is what all turns of one server gave.
type measured struct {
	Name string
	result
	Rates  []float64     // answers a second, of each round
	OfBare []float64     // the same, of the first server's rate in that round
	Syncs  float64       // syncs of the disk for each answer; negative: not counted
	CPU    time.Duration // processor time of the server for each answer
}

const gatewaySite = `export_receiver {
		tenant_from path 1
	}`

// acknowledgements loads four servers in turn: a bare Caddy, one that syncs each body to a file, and the gateway on both databases.
// Temporal is away, so that what is measured is the way to the acknowledgement and nothing else.
func acknowledgements(binary, dir, headers string, body []byte, rounds int, postgres func() (string, error)) ([]*measured, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sites := []struct {
		name, binary, site string
		database           func() (string, error)
	}{
		{"bare Caddy, respond 202", binary, "respond 202", nil},
		{"Caddy, body synced to a file", self, "bench_sync * " + filepath.Join(dir, "bodies"), nil},
		{"hiregate, durable, on SQLite", binary, gatewaySite, nil},
		{"hiregate, durable, on PostgreSQL", binary, gatewaySite, postgres},
	}
	var all []*contender
	defer func() {
		for _, c := range all {
			c.leave()
		}
	}()
	for n, site := range sites {
		o := options{folder: filepath.Join(dir, fmt.Sprint("ack-", n)), site: site.site}
		if site.database != nil {
			if o.database, err = site.database(); err != nil {
				return nil, err
			}
		}
		c, err := enter(site.name, site.binary, o, headers, same("/hooks/acme", body))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", site.name, err)
		}
		all = append(all, c)
	}
	for round := range rounds {
		for _, n := range rand.Perm(len(all)) { // so that nobody always follows the same one
			if err := all[n].take(); err != nil {
				return nil, fmt.Errorf("%s: %w", all[n].Name, err)
			}
		}
		if (round+1)%8 == 0 {
			say("  %d of %d rounds", round+1, rounds)
		}
	}
	var table []*measured
	for _, c := range all {
		if err := c.sum(all[0].Rates); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		table = append(table, &c.measured)
	}
	return table, nil
}

// contender is a server on its way through the turns.
type contender struct {
	measured
	site   string
	server *server
	sender *sender
	ask    ask
	turns  []result
}

func enter(name, binary string, o options, headers string, ask ask) (*contender, error) {
	s, err := serve(binary, o)
	if err != nil {
		return nil, err
	}
	c := &contender{measured: measured{Name: name, Syncs: -1}, site: o.site, server: s, ask: ask}
	if c.sender, err = dial(s.address, headers, connections); err != nil {
		s.stop()
		return nil, err
	}
	if _, err := c.sender.load(ask, http.StatusAccepted, 2*turn); err != nil { // warm up
		c.leave()
		return nil, err
	}
	return c, nil
}

func (c *contender) leave() {
	c.sender.close()
	c.server.stop()
}

// take is one turn.
func (c *contender) take() error {
	r, cpu, err := c.server.under(func() (result, error) { return c.sender.load(c.ask, http.StatusAccepted, turn) })
	if err != nil {
		return err
	}
	c.Rates = append(c.Rates, r.rate())
	c.turns = append(c.turns, r)
	c.CPU += cpu
	return nil
}

// sum adds the turns up.
func (c *contender) sum(bare []float64) error {
	c.result = together(c.turns)
	c.CPU /= time.Duration(c.Requests)
	for round, rate := range c.Rates {
		c.OfBare = append(c.OfBare, rate/bare[round])
	}
	if c.site != gatewaySite {
		return nil
	}
	// Over all the time: the gateway counts both about once a second, together.
	commits, err := c.server.metric("hiregate_store_commits_total")
	if err != nil {
		return err
	}
	writes, err := c.server.metric("hiregate_store_writes_total")
	c.Syncs = commits / writes
	return err
}

// syncer is the handler to compare with: it writes each body to a file of its own and syncs that before it answers.
type syncer struct {
	Folder string `json:"folder"`
}

func init() {
	caddy.RegisterModule(syncer{})
	httpcaddyfile.RegisterHandlerDirective("bench_sync", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		var s syncer
		if !h.AllArgs(&s.Folder) {
			return nil, h.ArgErr()
		}
		return &s, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("bench_sync", httpcaddyfile.Before, "respond")
}

// CaddyModule implements caddy.Module.
func (syncer) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.bench_sync", New: func() caddy.Module { return new(syncer) }}
}

// Provision makes the folder.
func (s *syncer) Provision(caddy.Context) error { return os.MkdirAll(s.Folder, 0o700) }

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (s *syncer) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	f, err := os.CreateTemp(s.Folder, "body-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := io.Copy(f, r.Body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}
