package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// scenarios are ways in which exports come, by name. body is an export without documents, full one with two.
var scenarios = map[string]func(b *bench, body, full []byte) error{
	"burst": func(b *bench, body, full []byte) error {
		return firstError(
			b.burst("one tenant", flowOptions{tenants: 1}, body),
			b.burst("1,000 tenants", flowOptions{tenants: 1000}, body),
			b.burst("one tenant, 10 % of attempts fail", flowOptions{tenants: 1, failing: 10, option: "retry 1s"}, body),
		)
	},
	"documents": func(b *bench, _, full []byte) error { return b.withDocuments(full) },
	"low":       func(b *bench, body, _ []byte) error { return firstError(b.low(10, body), b.low(40, body)) },
	"hang":      func(b *bench, body, _ []byte) error { return firstError(b.hang("", body), b.hang("t0", body)) },
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// scenario measures one way in which exports come.
func (b *bench) scenario(name string, body, full []byte) error {
	run, ok := scenarios[name]
	if !ok {
		return fmt.Errorf("there is no scenario %q: %s", name, strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
	}
	return run(b, body, full)
}

func report(name string, m flowed) error {
	text, err := json.Marshal(struct {
		Scenario string `json:"scenario"`
		flowed
	}{name, m})
	if err == nil {
		fmt.Println(string(text))
	}
	return err
}

// through sends exports through a new flow, waits until they have arrived, and reports how long that took.
func (b *bench) through(name string, o flowOptions, l flowLoad) error {
	f, err := b.newFlow(o)
	if err != nil {
		return err
	}
	defer f.close()
	began := time.Now()
	acking, err := f.send(l)
	if err != nil {
		return err
	}
	if err := f.arrivals(5 * time.Minute); err != nil {
		say("  %v", err)
	}
	return report(name, f.measured(began, acking))
}

func (b *bench) burst(name string, o flowOptions, body []byte) error {
	return b.through("burst, "+name, o, flowLoad{exports: b.exports, connections: 32, tenants: o.tenants, body: body})
}

func (b *bench) low(perSecond int, body []byte) error {
	return b.through(fmt.Sprintf("%d/s", perSecond), flowOptions{tenants: 1},
		flowLoad{exports: perSecond * int(b.during.Seconds()), connections: 8, perSecond: perSecond, tenants: 1, body: body})
}

// hang measures the exports of 49 tenants beside one more, whose partner does not answer if its name is given.
func (b *bench) hang(tenant string, body []byte) error {
	name := "hang, all partners answer"
	if tenant != "" {
		name = "hang, one partner of 50 does not answer"
	}
	f, err := b.newFlow(flowOptions{tenants: 50, hanging: tenant})
	if err != nil {
		return err
	}
	defer f.close()
	const perSecond = 100
	began := time.Now()
	acking, err := f.send(flowLoad{exports: perSecond * 3 * int(b.during.Seconds()), connections: 16,
		perSecond: perSecond, tenants: 50, body: body})
	if err != nil {
		return err
	}
	if err := f.arrivals(time.Minute); err != nil {
		say("  %v", err)
	}
	return report(name, f.measured(began, acking))
}

// withDocuments is a burst of exports with two documents each, which are re-hosted.
func (b *bench) withDocuments(full []byte) error {
	object, err := os.ReadFile("testdata/samples/document-object.json")
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(object)
	})}
	go service.Serve(l)
	defer service.Close()
	full = []byte(strings.ReplaceAll(string(full), "http://127.0.0.1:9099", "http://"+l.Addr().String()))
	return b.through("burst, two documents each", flowOptions{tenants: 1, option: "documents rehost"},
		flowLoad{exports: b.exports / 4, connections: 32, tenants: 1, body: full})
}
