package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	firstGap = 5 * time.Second
	lastGap  = time.Hour
	// slowGap is for how long a service is left alone that asks for that with 429, and does not say for how long.
	slowGap = 30 * time.Second
)

// gapAfter returns the time between two attempts, of which so many were made. It has jitter.
func gapAfter(attempts int) time.Duration {
	gap := lastGap
	if attempts < 11 {
		gap = min(firstGap<<max(attempts-1, 0), lastGap)
	}
	return gap - time.Duration(random.Float64()*0.2*float64(gap))
}

const (
	leaseTime  = 15 * time.Second // after which an attempt is made again whose gateway has ended
	renewEvery = 4 * time.Second
)

// NewLease returns a lease of one attempt, which begins now.
func (r *Relay) NewLease() store.SubmissionLease {
	return store.SubmissionLease{Owner: rand.Text(), Till: r.Now().Add(leaseTime)}
}

// renew lengthens the lease of an attempt until stop is called.
func (r *Relay) renew(ctx context.Context, s *model.Submission, l store.SubmissionLease) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			l.Till = r.Now().Add(leaseTime)
			err := r.Store.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.RenewLease(s, l)
				return err
			})
			if err != nil && ctx.Err() == nil {
				r.Log.Warn("the lease of an attempt of a submission could not be renewed", zap.String("tenant", s.Tenant),
					zap.String("submission", s.ID), zap.Error(err))
			}
		}
	})
	return func() {
		cancel()
		ended.Wait()
	}
}

// firstAtOnce is how many first attempts this node makes at once at a tenant's service. What comes meanwhile waits for
// the loop that starts what is due.
const firstAtOnce = 8

// BeginFirst takes a place for a first attempt, and returns its lease. It reports false where there is none, the service
// asked to be left alone, or its rate is used up.
func (r *Relay) BeginFirst(ctx context.Context, tenant string) (store.SubmissionLease, bool) {
	if u, err := r.Store.Upstream(ctx, tenant, nil); err != nil || r.Now().Before(u.SlowUntil) {
		return store.SubmissionLease{}, false
	}
	places, _ := r.firsts.LoadOrStore(tenant, new(atomic.Int64))
	if places.(*atomic.Int64).Add(1) > firstAtOnce || !r.MaySend(tenant) {
		r.EndFirst(tenant)
		return store.SubmissionLease{}, false
	}
	return r.NewLease(), true
}

// EndFirst gives the place of a first attempt back that First was not called for.
func (r *Relay) EndFirst(tenant string) {
	places, _ := r.firsts.Load(tenant)
	places.(*atomic.Int64).Add(-1)
}

// Attempt is the result of one attempt.
type Attempt struct {
	State   model.SubmissionState // Waiting: nothing is decided
	Refusal *applyclient.Problem  // of a refused one
	Status  int                   // of the service's answer; 0: there was none
	class   model.SubmissionClass
	began   time.Time     // zero: there was no attempt
	fault   string        // of the service as a whole; empty: of this one
	slow    time.Duration // the service asks to be left alone for so long
}

// Make makes an attempt of a leased submission, and says in it and in its content what that came to. It writes nothing.
// Errors are those of the store: nothing was sent.
func (r *Relay) Make(ctx context.Context, s *model.Submission, c *model.SubmissionContent) (Attempt, error) {
	u := r.Upstream(s.Tenant)
	switch {
	case u == nil:
		return r.undecided(s, "its tenant has no apply_upstream any more: add it again, or resolve the submission", false), nil
	case u.Damaged():
		return r.undecided(s, "what is stored of its tenant's apply_upstream is damaged: set it again", false), nil
	}
	began := r.Now()
	made, err := r.send(ctx, u, s, c)
	made.began = began
	return made, err
}

// send makes an attempt at a service.
func (r *Relay) send(ctx context.Context, u *model.ApplyUpstream, s *model.Submission, c *model.SubmissionContent) (Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	body, sent := r.body(s, c)
	a, err := r.client(s.Tenant, u, c.Passed).Apply(ctx, body, c.Key)
	if errors.Is(err, store.ErrUnavailable) { // where the token is
		return Attempt{}, err
	}
	s.Attempts++
	if err != nil {
		file := new(applyclient.FileError)
		if errors.As(err, &file) {
			made := r.undecided(s, "a file of it can't be read: restore the document store from a backup", false)
			made.class = model.AttemptUnsendable
			return made, nil
		}
		// Where there is no token, a body that was sent before was answered 401.
		unsigned := errors.As(err, new(*applyclient.SignInError))
		made := r.undecided(s, failure(err), sent.Load() && !unsigned)
		made.fault = s.Reason
		if errors.Is(err, errNoToken) {
			made.fault = store.UpstreamAgain
		}
		return made, nil
	}
	switch a.Verdict() {
	case applyclient.Delivered, applyclient.Deviating:
		c.Answers = slices.DeleteFunc(c.Answers, func(a model.SubmissionAnswer) bool { return a.Compliance })
		return r.delivered(s, a), nil
	case applyclient.Refused:
		return r.refused(s, c, a), nil
	}
	made := r.undecided(s, said(a), sent.Load() && (a.Status/100 == 5 || a.Status/100 == 2))
	made.Status = a.Status
	if a.Status != http.StatusInternalServerError { // one that fails with 500 says nothing of the others
		made.fault = s.Reason
	}
	made.slow = webhook.RetryAfter(a.Header.Get("Retry-After"), r.Now())
	if a.Status == http.StatusTooManyRequests {
		made.slow = cmp.Or(made.slow, slowGap)
	}
	made.slow = min(made.slow, lastGap)
	return made, nil
}

func (r *Relay) delivered(s *model.Submission, a *applyclient.Reply) Attempt {
	s.State, s.Reason, s.NextAt, s.EndedAt = model.SubmissionDelivered, "", time.Time{}, r.Now()
	if a.Header.Get(webhook.Replayed) == "true" {
		s.Uncertain = false
	}
	if a.Verdict() == applyclient.Deviating {
		s.Noted = fmt.Sprintf("the service answered %d instead of 204", a.Status)
	}
	return Attempt{State: s.State, Status: a.Status, class: model.AttemptDelivered}
}

func (r *Relay) refused(s *model.Submission, c *model.SubmissionContent, a *applyclient.Reply) Attempt {
	problem, _ := a.Problem()
	s.State, s.NextAt, s.EndedAt = model.SubmissionRefused, time.Time{}, r.Now()
	s.Reason = fmt.Sprintf("the service refused it with %d", a.Status)
	c.Refusal = problem.Errors
	return Attempt{State: s.State, Refusal: &problem, Status: a.Status, class: model.AttemptRefused}
}

// undecided plans the next attempt, or ends the submission where that would be too late.
func (r *Relay) undecided(s *model.Submission, why string, arrived bool) Attempt {
	now := r.Now()
	s.Reason, s.Uncertain = why, s.Uncertain || arrived
	s.NextAt = now.Add(gapAfter(s.Attempts))
	if last := s.TryUntil; s.NextAt.After(last) {
		if now.Before(last) {
			s.NextAt = last
		} else {
			s.State, s.NextAt, s.EndedAt = model.SubmissionFailed, time.Time{}, now
		}
	}
	return Attempt{State: s.State, class: model.AttemptServiceFault}
}

// body returns the body of a submission, the same for each attempt. sent says whether all of it was read.
func (r *Relay) body(s *model.Submission, c *model.SubmissionContent) (body applyclient.Body, sent *atomic.Bool) {
	answers := make([]applyclient.Answer, len(c.Answers))
	for n, a := range c.Answers {
		answers[n] = applyclient.Answer{QuestionID: a.Question, Value: a.Value}
		if a.Blob != "" {
			answers[n].File = &applyclient.File{Size: a.Size, Open: func() (io.ReadCloser, error) {
				return r.Archive.Files.OpenWhole(a.Blob, a.Size, a.SHA256)
			}}
		}
	}
	body, sent = applyclient.Application(s.Job, c.Source, answers), new(atomic.Bool)
	open := body.Open
	body.Open = func() io.ReadCloser {
		sent.Store(false)
		return &watched{ReadCloser: open(), left: body.Size, sent: sent}
	}
	return body, sent
}

// watched notes that a body was read to its end.
type watched struct {
	io.ReadCloser
	left int64
	sent *atomic.Bool
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.left -= int64(n); w.left <= 0 {
		w.sent.Store(true)
	}
	return n, err
}

// Run makes an attempt of a leased submission, and writes what that came to. An error means that it is not known: the
// next attempt follows the lease.
func (r *Relay) Run(ctx context.Context, s *model.Submission, l store.SubmissionLease) (Attempt, error) {
	defer r.renew(ctx, s, l)()
	c, err := r.Store.SubmissionContent(ctx, s)
	if errors.Is(err, store.ErrUnreadable) {
		s.Attempts++
		made := r.undecided(s, "what is stored of it can't be read: restore the database from a backup", false)
		made.class, made.began = model.AttemptUnsendable, r.Now()
		return made, r.End(ctx, s, nil, l, made)
	}
	if err != nil {
		return Attempt{}, err
	}
	made, err := r.Make(ctx, s, c)
	if err != nil {
		return made, err
	}
	return made, r.End(ctx, s, c, l, made)
}

// End writes what an attempt came to.
func (r *Relay) End(ctx context.Context, s *model.Submission, c *model.SubmissionContent, l store.SubmissionLease,
	made Attempt) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
	defer cancel()
	now := r.Now()
	var last *model.SubmissionAttempt
	if !made.began.IsZero() {
		last = &model.SubmissionAttempt{Number: s.Attempts, StartedAt: made.began, DurationMs: float64(now.Sub(made.began).Microseconds()) / 1000,
			Status: made.Status, Class: made.class, Reason: s.Reason}
	}
	err := r.Store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.EndAttempt(s, l, c, last); err != nil {
			return err
		}
		if made.State == model.SubmissionWaiting && made.fault == "" {
			return nil
		}
		slow := time.Time{}
		if made.slow > 0 {
			slow = now.Add(made.slow)
		}
		return tx.UpdateUpstreamFault(s.Tenant, made.fault, slow, now)
	})
	if err != nil {
		return fmt.Errorf("writing what an attempt of a submission came to: %w", err)
	}
	metrics.SubmissionAttempted(s.Tenant, s.State)
	r.Log.Info("submission attempted", zap.String("tenant", s.Tenant), zap.String("submission", s.ID),
		zap.String("state", string(s.State)), zap.Int("attempts", s.Attempts), zap.String("reason", s.Reason))
	return nil
}

// First makes the first attempt of a submission that was stored with this lease, of BeginFirst, and with once. It returns the refusal of
// the service, of which nothing is kept then; nil: the service accepted it, or has not said in time that it does not.
// The attempt goes on then, and a refusal is kept for somebody to look at. An error means that nobody knows whether the
// refused submission is stored.
func (r *Relay) First(ctx context.Context, s *model.Submission, c *model.SubmissionContent, l store.SubmissionLease,
	once *store.Once, wait time.Duration) (*Attempt, error) {
	f := &first{relay: r, s: s, c: c, lease: l, once: once, ended: make(chan struct{})}
	go f.run(context.WithoutCancel(ctx))
	late := time.NewTimer(wait)
	defer late.Stop()
	select {
	case <-f.ended:
	case <-late.C:
	case <-ctx.Done(): // nobody hears the answer
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered = true
	return f.refused, f.unknown
}

// first is the first attempt of a submission.
type first struct {
	relay *Relay
	s     *model.Submission
	c     *model.SubmissionContent
	lease store.SubmissionLease
	once  *store.Once
	ended chan struct{}

	mu       sync.Mutex
	answered bool     // the partner was told that it is stored, or is about to be
	refused  *Attempt // and discarded
	unknown  error    // whether it was discarded
}

func (f *first) run(ctx context.Context) {
	defer close(f.ended)
	defer f.relay.EndFirst(f.s.Tenant)
	defer f.relay.renew(ctx, f.s, f.lease)()
	made, err := f.relay.Make(ctx, f.s, f.c)
	gone := false
	if err == nil && made.Refusal != nil {
		gone, err = f.discard(ctx, made)
	}
	if err == nil && !gone {
		err = f.relay.End(ctx, f.s, f.c, f.lease, made)
	}
	if err != nil {
		f.relay.Log.Warn("what the first attempt of a submission came to is not known; it is made again",
			zap.String("tenant", f.s.Tenant), zap.String("submission", f.s.ID), zap.Error(err))
	}
}

// discard deletes a refused submission, unless somebody was told that it is stored.
func (f *first) discard(ctx context.Context, made Attempt) (gone bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answered {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	f.unknown = f.relay.Store.Write(ctx, func(tx *store.Tx) (err error) {
		gone, err = tx.DiscardSubmission(f.s, f.lease, f.once, f.relay.Now())
		return err
	})
	if f.unknown == nil && gone {
		f.refused = &made
	}
	return gone, f.unknown
}
