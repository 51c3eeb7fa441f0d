package relay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// freshFor is how long what a job asks is not asked for again.
const freshFor = time.Minute

// Asked has the questions of a job of a service.
type Asked struct {
	Questions []model.Question // nil: the service has no such job
	Age       time.Duration    // since the service said so
}

// questionsOfJob is the key of what a job asks in Relay.unread.
type questionsOfJob struct{ tenant, job string }

// ErrAway means that the service does not say what a job asks, and has not said it for so long that it may be another
// thing by now.
var ErrAway = errors.New("the service does not say what the job asks")

// Questions returns what a job of a tenant's service asks. While the service is away, what it said last counts for as
// long as applications are kept for it. Errors: ErrAway, and those of the store.
func (r *Relay) Questions(ctx context.Context, tenant string, u *model.ApplyUpstream, job string,
	passed []string) (Asked, error) {
	known, at, err := r.Store.UpstreamQuestions(ctx, tenant, job)
	stored := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Asked{}, err
	}
	age := r.Now().Sub(at)
	failed, unread := r.unread.Load(questionsOfJob{tenant, job})
	if stored && (age < freshFor || unread && age < u.TryFor && r.Now().Sub(failed.(time.Time)) < readAgain) {
		return Asked{known, age}, nil
	}
	// One request at a time asks for a job, and whoever waits for it may go: the next one finds what it brought.
	fresh := r.reading.DoChan(tenant+"\x00"+job, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), questionsTime)
		defer cancel()
		return r.readQuestions(ctx, tenant, u, job, stored, passed)
	})
	select {
	case <-ctx.Done():
		return Asked{}, ctx.Err()
	case got := <-fresh:
		switch {
		case got.Err == nil:
			questions, _ := got.Val.([]model.Question)
			return Asked{Questions: questions}, nil
		case errors.Is(got.Err, ErrAway) && stored && age < u.TryFor:
			return Asked{known, age}, nil
		}
		return Asked{}, got.Err
	}
}

// readQuestions asks the service, and stores what it says.
func (r *Relay) readQuestions(ctx context.Context, tenant string, u *model.ApplyUpstream, job string,
	stored bool, passed []string) ([]model.Question, error) {
	kind := "questions of an unknown job"
	if stored {
		kind = "questions"
	}
	if !r.allows(kind, tenant, u) {
		return nil, ErrAway
	}
	a, err := r.client(tenant, u, passed).Do(ctx, http.MethodGet, applyclient.QuestionsPath(job), applyclient.Body{}, nil)
	why := ""
	var all []model.Question
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return nil, err
	case err != nil:
		why = failure(err)
	case a.Status == http.StatusOK:
		if all, err = questionsOf(a); err != nil {
			why = said(a)
		}
	case a.Status == http.StatusBadRequest, a.Status == http.StatusNotFound:
		if _, ok := a.Problem(); !ok {
			why = said(a)
		}
	default:
		why = said(a)
	}
	if why != "" {
		if stored { // whoever comes next does not wait for that again
			r.unread.Store(questionsOfJob{tenant, job}, r.Now())
		}
		r.Log.Warn("a service does not say what a job asks", zap.String("tenant", tenant), zap.String("reason", why))
		return nil, fmt.Errorf("%w: %s", ErrAway, why)
	}
	r.unread.Delete(questionsOfJob{tenant, job})
	if all == nil && !stored { // any code can be asked for, and is not kept
		return nil, nil
	}
	return all, r.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.UpsertUpstreamQuestions(tenant, job, all, r.Now())
	})
}

func questionsOf(a *applyclient.Reply) ([]model.Question, error) {
	all, err := a.Questions()
	if err != nil {
		return nil, err
	}
	questions := make([]model.Question, len(all))
	for n, q := range all {
		if q.ID == "" {
			return nil, applyclient.ErrNoQuestions
		}
		questions[n] = model.Question{ID: q.ID, Format: q.Format, IsRequired: q.IsRequired, Label: q.Label,
			Options: q.Options, MaxLength: q.MaxLength, Group: q.Group}
	}
	return questions, nil
}
