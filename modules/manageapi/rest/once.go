package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	// lease is how long nobody else may answer a request with an Idempotency-Key. After a crash its repeat waits that
	// long.
	lease = time.Minute
	// bound ends such a request before its lease does.
	bound = 50 * time.Second
	// keptFor is how long a repeat is recognized.
	keptFor = 24 * time.Hour
)

// ExactlyOnce runs a POST. With an Idempotency-Key, it is done once; repeat answers repeats from the location that was
// stored with the key. content is the hash of the body, unless that is in r.Content.
func (r *Request) ExactlyOnce(
	content []byte, run func() (any, error), repeat func(*Request, string) (any, error),
) (any, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return run()
	}
	if len(keys) > 1 || !webhook.ValidUUID(keys[0]) {
		return nil, problem.New(http.StatusBadRequest, "send one Idempotency-Key, of 1 to 255 visible ASCII characters")
	}
	whole := r.Request
	ctx, cancel := context.WithTimeout(r.Context(), bound)
	defer func() {
		if ctx.Err() == nil {
			r.Request = whole // an error is not taken for that of a request that was given up
		}
		cancel()
	}()
	r.Request = r.WithContext(ctx)
	now := r.Gateway.Now()
	secret := digest.Of(r.Caller.Key, keys[0]) // what only the request has
	once := &store.Once{
		ID: digest.Of(r.Caller.ID, r.Method, r.URL.EscapedPath(), keys[0]),
		// Without the secret, a copy of the database would tell whoever guesses a body when they have it: the secret of a
		// tenant is in some.
		Fingerprint: digest.Of(string(secret[:]), r.URL.RawQuery, r.Header.Get("Content-Type"), string(r.Content),
			string(content)),
		Lease: now.Add(lease).UTC().Truncate(time.Microsecond), Till: now.Add(keptFor),
	}
	location, err := r.DB.Begin(r.Context(), once, now)
	switch {
	case errors.Is(err, store.ErrRunning):
		return nil, problem.New(http.StatusConflict,
			"a request with this Idempotency-Key is being answered: send it again in a moment").RetryAfter(time.Second)
	case errors.Is(err, store.ErrOtherRequest):
		return nil, problem.New(http.StatusUnprocessableEntity,
			"this Idempotency-Key was sent with something else before: take a new one for each request")
	case err != nil:
		return nil, err
	case location != "":
		r.again = true
		r.Writer.Header().Set(webhook.Replayed, "true")
		return repeat(r, location)
	}
	r.once = once
	defer r.end()
	return run()
}

// Note stores the location of the thing that the request makes, in the transaction that makes it, so that it is never
// made twice.
func (r *Request) Note(tx *store.Tx, location string) error {
	r.Object = objectAt(location)
	if r.once == nil {
		return nil
	}
	return tx.Complete(r.once, location)
}

// end lets the repeat of a request that made nothing begin at once.
func (r *Request) end() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), Patience)
	defer cancel()
	if err := r.DB.EndLease(ctx, r.once, r.Gateway.Now()); err != nil {
		r.Log.Warn("the repeat of a request has to wait for a minute", zap.String("path", r.Pattern), zap.Error(err))
	}
}

// Repeated returns the id at the end of the location of the thing that a request made, and answers with that location
// again.
func (r *Request) Repeated(location string) (id string) {
	if r.Status == http.StatusCreated {
		r.Location = location
	}
	id, _ = url.PathUnescape(location[strings.LastIndexByte(location, '/')+1:])
	return id
}

// ShownOnce refuses the repeat of a request that made a secret, which is not stored. instead says how to get another
// one.
func ShownOnce(secret, instead string) error {
	return problem.Newf(http.StatusConflict,
		"this request was done before, and the %s that it made is shown once only: %s", secret, instead)
}
