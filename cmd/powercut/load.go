package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// promise is something that the gateway acknowledged.
type promise struct {
	kind kind
	id   string
}

// kind is a kind of promise.
type kind string

const (
	exports      kind = "exports"      // by their UUID
	applications kind = "applications" // by their name
	submissions  kind = "submissions"  // by their name
	documents    kind = "documents"    // by their name, and the URL that was delivered
	deliveries   kind = "deliveries"   // by the name; looked for at the end
	changes      kind = "changes"      // of a tenant, to a number
	redeliveries kind = "redeliveries" // of a UUID, and the round
	erasures     kind = "erasures"     // of a UUID
)

var kinds = []kind{exports, applications, submissions, documents, deliveries, changes, redeliveries, erasures}

// load asks the gateway for what it has to keep.
type load struct {
	gateway *gateway
	outside *outside
	// patience is how long documents may still be fetched, and exports delivered; 0: until after the last cut.
	patience time.Duration

	mu       sync.Mutex
	promises []promise
	changed  int             // how often the tenant was changed
	erasing  map[string]bool // names whose erasure was asked for, whether or not an answer came
}

// acknowledged notes a promise.
func (l *load) acknowledged(k kind, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.promises = append(l.promises, promise{k, id})
}

// list returns all promises of so far, in their order.
func (l *load) list() []promise {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.promises)
}

// some returns an export that was acknowledged; empty: there is none.
func (l *load) some(random *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 20 {
		if len(l.promises) == 0 {
			break
		}
		if p := l.promises[random.IntN(len(l.promises))]; p.kind == exports {
			return p.id
		}
	}
	return ""
}

func (l *load) isErasing(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.erasing[name]
}

// start begins the load before the n-th cut. end ends it, and waits for what is under way.
func (l *load) start(seed uint64, n int) (end func()) {
	var workers sync.WaitGroup
	done := make(chan struct{})
	for worker, each := range []struct {
		step  func(name string, random *rand.Rand)
		pause time.Duration // before it
	}{
		{l.export, 0}, {l.export, 0}, {l.export, 0}, {l.export, 0}, {l.apply, 0}, {l.submit, 0},
		{l.change, 20 * time.Millisecond}, {l.redeliver, 20 * time.Millisecond}, {l.erase, 50 * time.Millisecond},
	} {
		random := rand.New(rand.NewPCG(seed, uint64(n*100+worker)))
		workers.Go(func() {
			for i := 1; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(each.pause):
					each.step(fmt.Sprintf("u-%d-%d-%d", n, worker, i), random)
				}
			}
		})
	}
	return func() {
		close(done)
		workers.Wait()
	}
}

func (l *load) export(name string, _ *rand.Rand) {
	if status, _, _ := l.gateway.send(name, l.outside.exportBody(name)); status == http.StatusAccepted {
		l.acknowledged(exports, name)
	}
}

func (l *load) apply(name string, _ *rand.Rand) {
	name = "p" + name[1:]
	if status, _, _ := l.gateway.apply(name); status == http.StatusNoContent {
		l.acknowledged(applications, name)
	}
}

func (l *load) submit(name string, _ *rand.Rand) {
	name = "s" + name[1:]
	if status, _, _ := l.gateway.submit(name); status == http.StatusNoContent {
		l.acknowledged(submissions, name)
	}
}

// change gives a tenant a name that is one more each time.
func (l *load) change(string, *rand.Rand) {
	l.changed++
	n := strconv.Itoa(l.changed)
	if status, _, _ := l.gateway.manage(http.MethodPut, "/tenants/changed", `{"name":"`+n+`","secrets":[]}`); status/100 == 2 {
		l.acknowledged(changes, n)
	}
}

func (l *load) redeliver(_ string, random *rand.Rand) {
	name := l.some(random)
	if name == "" {
		return
	}
	status, answer, _ := l.gateway.manage(http.MethodPost, "/tenants/acme/exports/"+name+"/redeliver", "")
	var got struct {
		Round   int
		Started []string
	}
	if json.Unmarshal(answer, &got); status/100 == 2 && len(got.Started) > 0 {
		l.acknowledged(redeliveries, fmt.Sprint(name, " ", got.Round))
	}
}

func (l *load) erase(_ string, random *rand.Rand) {
	name := l.some(random)
	if name == "" {
		return
	}
	l.mu.Lock()
	l.erasing[name] = true
	l.mu.Unlock()
	status, _, _ := l.gateway.manage(http.MethodPost, "/tenants/acme/exports/"+name+"/erase", `{"cancel":true}`)
	if status/100 == 2 {
		l.acknowledged(erasures, name)
	}
}
