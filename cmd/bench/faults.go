package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"
)

// clusterFaults break one thing after the other below three gateways that share PostgreSQL and a bucket.
var clusterFaults = []fault{
	{"nodes", func(b *bench, f *flow, mark func() error) error {
		for _, node := range f.nodes {
			node.kill()
			err := mark()
			time.Sleep(b.minute / 6)
			if err := errors.Join(err, node.start()); err != nil {
				return err
			}
			time.Sleep(b.minute / 6)
		}
		return nil
	}},
	{"temporal-twice", func(b *bench, f *flow, mark func() error) error {
		return doTwice(func() error {
			f.temporal.kill()
			err := mark()
			time.Sleep(b.minute / 6)
			return errors.Join(err, f.temporal.start())
		}, b.minute/3)
	}},
	{"postgres-twice", func(b *bench, f *flow, mark func() error) error {
		return doTwice(func() error {
			if err := inTurn(mark, b.postgres.Stop); err != nil {
				return err
			}
			time.Sleep(b.minute / 6)
			return b.postgres.Start()
		}, b.minute/3)
	}},
	{"bucket", func(b *bench, f *flow, mark func() error) error {
		f.s3.kill()
		err := mark()
		time.Sleep(b.minute * 2 / 3)
		return errors.Join(err, f.s3.start())
	}},
	{"everything", func(b *bench, f *flow, mark func() error) error {
		for _, node := range f.nodes {
			node.kill()
		}
		f.temporal.kill()
		f.s3.kill()
		steps := []func() error{mark, b.postgres.Stop, b.postgres.Start, f.s3.start, f.temporal.start}
		for _, node := range f.nodes {
			steps = append(steps, node.start)
		}
		return inTurn(steps...)
	}},
	{"node-frozen", func(b *bench, f *flow, mark func() error) error { return f.nodes[0].freeze(b.minute*3/4, mark) }},
	{"temporal-frozen", func(b *bench, f *flow, mark func() error) error { return f.temporal.freeze(b.minute/2, mark) }},
}

func doTwice(do func() error, pause time.Duration) error {
	return inTurn(do, func() error { time.Sleep(pause); return do() })
}

// survived has the figures of a fault.
type survived struct {
	PerSecond    int     `json:"perSecond"` // sent
	Fault        float64 `json:"faultSeconds"`
	Last         float64 `json:"lastSeconds"` // from acknowledgement to arrival, at most
	Acknowledged int     `json:"acknowledged"`
	Lost         int     `json:"lost"`
	Twice        int     `json:"twice"`
	UnderWay     int     `json:"underWay"` // had arrived, and were not stored as delivered, when something broke
	Documents    int     `json:"documents"`
	Missing      int     `json:"documentsMissing"` // or others than those that were sent
}

// faults counts what becomes of exports, a fifth of them with two documents each, while something breaks.
func (b *bench) faults() (broken error) {
	b.onPostgres = true
	if b.perSecond == 0 {
		b.perSecond = 100
	}
	for _, one := range clusterFaults {
		if b.fault != "" && b.fault != one.name {
			continue
		}
		s, err := b.survive(one)
		if err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
		if err := report("faults, "+one.name, s); err != nil {
			return err
		}
		if s.Lost > 0 || s.Missing > 0 || s.Twice > s.UnderWay {
			broken = errors.Join(broken, fmt.Errorf("%s: %d lost, %d documents missing, %d twice of %d under way", one.name,
				s.Lost, s.Missing, s.Twice, s.UnderWay))
		}
	}
	return broken
}

// survive makes a fault in a flow of its own.
func (b *bench) survive(one fault) (s survived, err error) {
	body, document, stop, err := b.serveDocuments()
	if err != nil {
		return s, err
	}
	defer stop()
	f, err := b.newFlow(flowOptions{tenants: tenantsWithFaults, nodes: 3, bucket: true})
	if err != nil {
		return s, err
	}
	defer f.close()
	underWay := map[arrival]bool{}
	s.PerSecond = b.perSecond
	l := flowLoad{connections: connections, perSecond: b.perSecond, tenants: tenantsWithFaults, body: b.body, documented: body}
	err = f.whileSending(l, func() error {
		time.Sleep(b.minute / 6)
		began := time.Now()
		err := one.run(b, f, f.mark(underWay))
		s.Fault = time.Since(began).Seconds()
		time.Sleep(b.minute / 3)
		return err
	})
	if err != nil {
		return s, err
	}
	if err := f.settle(); err != nil {
		say("  %v", err)
	}
	s.Lost, s.Twice = f.lostAndTwice()
	m := f.measured(time.Time{}, 0, "")
	s.Acknowledged, s.Last, s.UnderWay = m.Exports, m.Last, len(underWay)
	s.Documents = len(f.links)
	s.Missing = f.documentsMissing(document)
	return s, nil
}

// serveDocuments serves the documents of the export to send. It returns the export with their addresses, and what each of
// them contains.
func (b *bench) serveDocuments() (body, document []byte, stop func(), err error) {
	object, err := os.ReadFile("testdata/samples/document-object.json")
	if err != nil {
		return nil, nil, nil, err
	}
	if document, err = contentOf(object); err != nil {
		return nil, nil, nil, err
	}
	address, stop, err := listen(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(object)
	}))
	return []byte(strings.ReplaceAll(string(b.full), "http://127.0.0.1:9099", "http://"+address)), document, stop, err
}

// contentOf returns the file in a Document object.
func contentOf(object []byte) ([]byte, error) {
	var decoded struct {
		Content []byte `json:"content"`
	}
	err := json.Unmarshal(object, &decoded)
	return decoded.Content, err
}

var link = regexp.MustCompile(`"url": ?"(http://[^"]+/documents/[^"]+)"`)

// linksIn returns the links to documents in an export.
func linksIn(r io.Reader) (links []string) {
	body, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	for _, found := range link.FindAllSubmatch(body, -1) {
		links = append(links, string(found[1]))
	}
	return links
}

// documentsMissing returns how many links do not lead to the document, for two minutes.
func (f *flow) documentsMissing(document []byte) int {
	err := eventually(2*time.Minute, func() error {
		var bad []string
		var why error
		for _, one := range f.links {
			object, err := get(http.DefaultClient, one)
			var content []byte
			if err == nil {
				content, err = contentOf([]byte(object))
			}
			if err == nil && !bytes.Equal(content, document) {
				err = fmt.Errorf("%s has another document: %.100q", one, object)
			}
			if err != nil {
				bad, why = append(bad, one), err
			}
		}
		f.links = bad
		return why
	})
	if err != nil {
		say("  %v", err)
	}
	return len(f.links)
}
