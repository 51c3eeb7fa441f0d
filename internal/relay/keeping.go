package relay

import (
	"context"
	"time"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const erasedAtOnce = 100

// Measuring sets the metrics of submissions.
func (r *Relay) Measuring() loop.Loop {
	return loop.Loop{Name: "submission_counts", First: loop.AtOnce, Every: 15 * time.Second, Round: r.measure,
		Failed: "submissions could not be counted; it is tried again"}
}

func (r *Relay) measure(ctx context.Context) error {
	c := r.InForce.Current()
	if c == nil {
		return nil
	}
	all, err := r.Store.CountSubmissions(ctx)
	if err != nil {
		return err
	}
	counts, waiting := map[string]map[model.SubmissionState]int64{}, map[string]time.Duration{}
	for t := range c.All() {
		if t.ApplyUpstream == nil && all[t.Name] == nil {
			continue
		}
		counts[t.Name], waiting[t.Name] = map[model.SubmissionState]int64{}, 0
		for state, of := range all[t.Name] {
			counts[t.Name][state] = of.N
			if state == model.SubmissionWaiting {
				waiting[t.Name] = r.Now().Sub(of.Oldest)
			}
		}
	}
	metrics.Submissions(counts, waiting)
	return nil
}

// failLate is how long after its time a submission fails that nobody attempts any more.
const failLate = time.Hour

// Loop erases the content of submissions that were kept for long enough, and has those fail that nobody attempts any more.
func (r *Relay) Loop() loop.Loop {
	return loop.Loop{Name: "kept_submissions", First: time.Minute, Every: time.Hour, Round: r.eraseOld,
		Failed: "old submissions could not be erased; it is tried again"}
}

func (r *Relay) eraseOld(ctx context.Context) error {
	c := r.InForce.Current()
	if c == nil {
		return nil
	}
	kept, err := r.Store.CountSubmissions(ctx)
	if err != nil {
		return err
	}
	now := r.Now()
	for tenant := range kept { // also one that is gone
		keep := model.DefaultKeep
		if t, ok := c.Tenant(tenant); ok && t.ApplyUpstream != nil {
			keep = t.ApplyUpstream.Keep
		}
		for _, state := range model.SubmissionStates {
			keptFor := KeptFor
			switch state {
			case model.SubmissionWaiting:
				continue
			case model.SubmissionDelivered:
				keptFor = keep
			}
			if err := r.eraseBefore(ctx, tenant, state, now.Add(-keptFor)); err != nil {
				return err
			}
		}
	}
	return r.Store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.FailSubmissions(now.Add(-failLate), now); err != nil {
			return err
		}
		if c.RetentionRows > 0 {
			if _, err := tx.DeleteSubmissions(now.Add(-c.RetentionRows)); err != nil {
				return err
			}
		}
		if _, err := tx.DeleteUpstreamQuestions(now.Add(-KeptFor)); err != nil {
			return err
		}
		return tx.DeleteUpstreamTitles(now.Add(-KeptFor))
	})
}

func (r *Relay) eraseBefore(ctx context.Context, tenant string, state model.SubmissionState, before time.Time) error {
	for {
		all, err := r.Store.ListKeptSubmissions(ctx, tenant, state, before, erasedAtOnce)
		if err != nil || len(all) == 0 {
			return err
		}
		if err := r.Store.Write(ctx, func(tx *store.Tx) error {
			for _, s := range all {
				if _, err := tx.EraseSubmission(s, r.Now()); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
}
