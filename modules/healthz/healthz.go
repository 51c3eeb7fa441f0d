// Package healthz reports what the gateway can reach.
package healthz

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// patience is how long to wait for the answer of a part.
const patience = 3 * time.Second

// Health is the answer: whether exports can be accepted, and what is reachable, by name. The check integrity is there
// where the database said that it is damaged.
type Health struct {
	// Status is ok; degraded: exports are accepted, and wait or lack documents; unavailable: they can't be accepted;
	// stopping: the process ends.
	Status string           `json:"status"`
	Checks map[string]Check `json:"checks"`
}

// Check is one of the parts.
type Check struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"`
}

// Server answers 200 while exports can be accepted, else 503. At an address that ends with /ready it checks the
// database alone, for a load balancer; at one that ends with /live it answers 200 as long as the process does.
type Server struct {
	Gateway *gateway.Gateway

	database lastAnswer
}

// freshFor is how long an answer of the database is shared: each costs it a write, and anyone may ask.
const freshFor = time.Second

// lastAnswer is the database's last answer. One request at a time asks, for all; the end of that request does not end
// the question.
type lastAnswer struct {
	mu    sync.Mutex
	known bool
	at    time.Time
	err   error
}

func (l *lastAnswer) or(ask func(context.Context) error, now func() time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known || now().Sub(l.at) >= freshFor {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		l.err = ask(ctx)
		l.known, l.at = true, now()
	}
	return l.err
}

// ServeHTTP answers with the health of the gateway.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		problem.MethodNotAllowed(w, "GET, HEAD")
		return
	}
	at := path.Base(r.URL.Path)
	h := Health{Status: "ok", Checks: map[string]Check{}}
	switch {
	case at == "live":
	case s.Gateway.Exiting != nil && s.Gateway.Exiting():
		reason := "the gateway is stopping: send what comes next to another one"
		h = Health{Status: "stopping", Checks: map[string]Check{"gateway": {Reason: reason}}}
	default:
		h = s.ask(w, r, at != "ready")
	}
	status := http.StatusOK
	if h.Status == "unavailable" || h.Status == "stopping" {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(h)
}

// ask asks the database and, if all is set, Temporal, concurrently.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, all bool) Health {
	alone := s.Gateway.Runtime.Settings.SignInAlone()
	database, temporal := make(chan error, 1), make(chan error, 1)
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	release, held := s.Gateway.Hold(w)
	if held {
		go func() {
			defer release() // the question may take longer than this request
			database <- s.database.or(s.Gateway.Runtime.Ready, s.Gateway.Now)
		}()
	} else {
		database <- gateway.ErrNotOpen
	}
	if all && !alone {
		go func() { temporal <- s.Gateway.Runtime.TemporalReady(ctx) }()
	}
	h := Health{Status: "ok", Checks: map[string]Check{}}
	var damage store.Damage
	if held {
		damage = s.Gateway.Runtime.Damage()
	}
	switch {
	case damage.Confirmed:
		h.Checks["integrity"] = Check{Reason: "the database is damaged: put a backup in its place; see the log"}
	case !damage.Since.IsZero() && all:
		h.Checks["integrity"] = Check{Reason: "the database said that it is damaged: see the log"}
	}
	h.Checks["database"] = check(answerOf(ctx, database), "the database can't be written")
	if all && !alone {
		err := answerOf(ctx, temporal)
		away := "Temporal does not answer"
		if fault, ok := errors.AsType[*gateway.TemporalFault](err); ok {
			away = fault.Reason
		}
		if h.Checks["database"].OK {
			away += "; exports are accepted and wait"
		}
		h.Checks["temporal"] = check(err, away)
		h.Checks["documents"] = check(s.Gateway.Runtime.DocumentsReady(),
			"documents can't be stored, and are lost when their URLs end: see the log")
	}
	for name, one := range h.Checks {
		switch {
		case one.OK:
		case name == "database", name == "integrity" && damage.Confirmed:
			h.Status = "unavailable"
		case h.Status == "ok":
			h.Status = "degraded"
		}
	}
	return h
}

// answerOf waits for a part. An answer that came in time counts, however long the other part took.
func answerOf(ctx context.Context, part <-chan error) error {
	select {
	case err := <-part:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-part:
		return err
	default:
		return ctx.Err()
	}
}

// check leaves out the text of an error, which may contain addresses: the answer is public.
func check(err error, reason string) Check {
	if err != nil {
		return Check{Reason: reason}
	}
	return Check{OK: true}
}
