package manage

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	// lease is how long nobody else may answer a request with an Idempotency-Key. After a crash its repeat waits that long.
	lease = time.Minute
	// bound ends such a request before its lease does.
	bound = 50 * time.Second
	// keptFor is how long its answer is kept.
	keptFor = 24 * time.Hour
)

// once is a POST with an Idempotency-Key. Its answer is kept sealed: an API key's is the one answer that has it, and what opens
// the seal is in the request alone.
type once struct {
	store.Once
	vault  *vault.Vault
	effect string // what an earlier try had brought about when its process ended; empty: nothing
}

// exactlyOnce runs a POST. Where it has an Idempotency-Key, its repeats get the same answer, and what it does is done once. content
// is the hash of what was sent, where that is not in r.body.
func (r *request) exactlyOnce(content []byte, run func() (any, error)) (any, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return run()
	}
	if len(keys) > 1 || !webhook.ValidUUID(keys[0]) {
		return nil, problem.New(http.StatusBadRequest, "send one Idempotency-Key, of 1 to 255 visible ASCII characters")
	}
	ctx, cancel := context.WithTimeout(r.Context(), bound)
	defer cancel()
	r.Request = r.WithContext(ctx)
	kept, err := r.begin(keys[0], content)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		r.again = true
		r.w.Header().Set("Idempotency-Replayed", "true")
		return kept, nil
	}
	v, err := run()
	var a *answer
	if err == nil {
		a, err = r.encoded(v)
	}
	r.finish(a, err)
	return a, err
}

// begin notes that the request is being answered. Where it was before, that answer is given.
func (r *request) begin(key string, content []byte) (*answer, error) {
	now := r.gateway.Now()
	secret := digest.Of(r.caller.key, key) // what only the request has
	o := &once{Once: store.Once{
		ID: digest.Of(r.caller.id, r.Method, r.URL.EscapedPath(), key),
		// Without the secret, a copy of the database would tell whoever guesses a body when they have it: the secret of a tenant is in some.
		Fingerprint: digest.Of(string(secret[:]), r.URL.RawQuery, r.Header.Get("Content-Type"), string(r.body), string(content)),
		Lease:       now.Add(lease).UTC().Truncate(time.Microsecond), Till: now.Add(keptFor),
	}}
	var err error
	if o.vault, err = vault.New(string(secret[:])); err != nil {
		return nil, err
	}
	kept, err := r.db.Begin(r.Context(), &o.Once, now)
	switch {
	case errors.Is(err, store.ErrRunning):
		return nil, problem.New(http.StatusConflict, "a request with this Idempotency-Key is being answered: send it again in a moment").RetryAfter(time.Second)
	case errors.Is(err, store.ErrOtherRequest):
		return nil, problem.New(http.StatusUnprocessableEntity, "this Idempotency-Key was sent with something else before: take a new one for each request")
	case err != nil:
		return nil, err
	}
	if kept.Answered {
		a, err := o.open(kept.Answer)
		if err != nil {
			return nil, err
		}
		return a, nil
	}
	o.effect = kept.Effect
	r.once = o
	return nil, nil
}

// note writes what the request brings about, in the transaction that does it, so that it is never done twice.
func (r *request) note(tx *store.Tx, effect string) error {
	if r.once == nil {
		return nil
	}
	return tx.NoteEffect(&r.once.Once, effect)
}

// done is what an earlier try of the request had brought about; empty: nothing.
func (r *request) done() string {
	if r.once == nil {
		return ""
	}
	return r.once.effect
}

// endedMeanwhile refuses the repeat of a request whose earlier try made something that is good no longer.
func endedMeanwhile() error {
	return problem.New(http.StatusConflict, "an earlier try of this request made it, and it was revoked or disabled since: take a new Idempotency-Key")
}

// finish keeps the answer for the request's repeats. Where it is no more than a moment's trouble, the repeat is tried anew.
func (r *request) finish(a *answer, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), patience)
	defer cancel()
	var sealed []byte
	var err error
	if failed != nil {
		if p := r.problem(failed); p.Status < 500 && p.Status != http.StatusTooManyRequests && p.Status != http.StatusUnauthorized {
			a, err = refusal(p)
		}
	}
	if a != nil && err == nil {
		sealed, err = r.once.close(a)
	}
	if err == nil {
		err = r.db.Finish(ctx, &r.once.Once, sealed, r.gateway.Now())
	}
	if err != nil {
		r.log.Warn("an answer could not be kept for the repeat of its request", zap.String("path", r.Pattern), zap.Error(err))
	}
}

// forAnswers is what answers are sealed for.
const forAnswers = "hiregate answer"

func (o *once) close(a *answer) ([]byte, error) {
	raw, err := stdjson.Marshal(a)
	if err != nil {
		return nil, err
	}
	return o.vault.Seal(forAnswers, string(o.ID[:]), raw)
}

func (o *once) open(sealed []byte) (*answer, error) {
	raw, err := o.vault.Open(forAnswers, string(o.ID[:]), sealed)
	if err != nil {
		return nil, fmt.Errorf("opening a kept answer: %w", err)
	}
	a := new(answer)
	return a, stdjson.Unmarshal(raw, a)
}
