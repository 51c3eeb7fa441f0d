package send

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/webhook"
)

// sender plays the service: it signs and sends the same body count times.
type sender struct {
	names       webhook.Names
	client      *http.Client
	delivery    webhook.Delivery // of every request, but for the UUID
	uuid        string           // of every request; empty: a fresh one each
	count       int
	concurrency int
	limiter     *rate.Limiter
	timeout     time.Duration // of a request, its answer included
	any2xx      bool          // a receiver need not give a receipt
}

// NewClient returns a client for the URL that the user of the command typed: no redirects, no proxy, nothing added to
// the request. It is not the one of internal/egress, because the address is the user's own choice.
func NewClient(concurrency int) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: concurrency,
		MaxConnsPerHost:     concurrency,
		DisableCompression:  true,
		ForceAttemptHTTP2:   true,
		IdleConnTimeout:     30 * time.Second,
	}}
}

// run sends until count requests are on their way or ctx ends, and hands over each answer, in no order, as it comes.
// The channel is closed after the last.
func (s *sender) run(ctx context.Context) <-chan *answer {
	answers := make(chan *answer)
	var (
		workers sync.WaitGroup
		taken   atomic.Int64
	)
	for range min(s.concurrency, s.count) {
		workers.Go(func() {
			for taken.Add(1) <= int64(s.count) && s.limiter.Wait(ctx) == nil && ctx.Err() == nil {
				answers <- s.send(ctx)
			}
		})
	}
	go func() {
		workers.Wait()
		close(answers)
	}()
	return answers
}

func (s *sender) send(ctx context.Context) *answer {
	d := s.delivery
	switch {
	case d.Event == webhook.EventVerify: // carries none
	case s.uuid != "":
		d.UUID = []byte(s.uuid)
	default:
		d.UUID = []byte(uuid.NewString())
	}
	attempt, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	got, err := s.names.Send(attempt, s.client, d)
	return newAnswer(d, got, err, s.timeout, s.any2xx)
}

// parseRate reads --rate: "200/s", "30/m", or "200", which is a second's.
// The empty string is no limit.
func parseRate(s string) (rate.Limit, error) {
	if s == "" {
		return rate.Inf, nil
	}
	number, unit, _ := strings.Cut(s, "/")
	per := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || per == 0 || !(n > 0 && n <= 1e6) {
		return 0, fmt.Errorf("--rate %q is not a rate: write it like 200/s or 30/m", s)
	}
	return rate.Limit(n / per.Seconds()), nil
}
