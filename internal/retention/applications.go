package retention

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/wait"
)

// Notice is for how long a new or shorter retention of job applications is announced before it holds.
const Notice = 7 * day

// Actor is the author of what retention erases, in the audit.
const Actor = "retention"

// ParseApplications reads for how long job applications are kept: a number of days, such as 180d, 4 at least, or forever,
// which is 0.
func ParseApplications(written string) (time.Duration, error) {
	switch kept, ok := parseDays(written); {
	case written == Forever:
		return 0, nil
	case !ok || kept < model.ShortestKept*day:
		return 0, fmt.Errorf("retention: applications %q: give a number of days, %d at least, or forever: write, for example, "+
			"`applications 180d`", written, model.ShortestKept)
	default:
		return kept, nil
	}
}

// place names a job, or, without one, all others of a tenant.
type place struct{ tenant, job string }

// announced returns for how long job applications are kept, as the configuration and the jobs say, by what is stored of it. What
// is new or shorter holds after a week, what is longer at once. A tenant that is not configured keeps its applications.
func announced(before []model.ApplicationRetention, c *config.Config, jobs []store.JobRetention,
	now time.Time) (all []model.ApplicationRetention) {
	stored := map[place]model.ApplicationRetention{}
	for _, r := range before {
		stored[place{r.Tenant, r.Job}] = r
	}
	tenants := map[string]model.ApplicationRetention{}
	for t := range c.All() {
		if kept := c.KeepApplications(t); kept > 0 {
			tenants[t.Name] = next(stored, place{t.Name, ""}, kept, 0, now)
			all = append(all, tenants[t.Name])
		}
	}
	own := map[place]bool{}
	for _, j := range jobs {
		if _, known := c.Tenant(j.Tenant); known {
			at := place{j.Tenant, j.Job}
			own[at] = true
			of := tenants[j.Tenant]
			all = append(all, next(stored, at, time.Duration(j.Days)*day, of.At(now), now))
		}
	}
	for _, r := range before { // of jobs that have none any more
		of, kept := tenants[r.Tenant]
		if r.Job == "" || !kept || own[place{r.Tenant, r.Job}] {
			continue
		}
		if r = next(stored, place{r.Tenant, r.Job}, of.Kept, 0, now); now.Before(r.EffectiveAt) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b model.ApplicationRetention) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Job, b.Job))
	})
	return all
}

// next returns the retention that is stored of a place, or another one if it was set since. former is for how long they were
// kept where nothing is stored; 0: for ever.
func next(stored map[place]model.ApplicationRetention, at place, kept, former time.Duration, now time.Time) model.ApplicationRetention {
	r, known := stored[at]
	if known && r.Kept == kept {
		return r
	}
	if known {
		former = r.At(now)
	}
	r = model.ApplicationRetention{Tenant: at.tenant, Job: at.job, Kept: kept, Former: former,
		EffectiveAt: now.Add(Notice).UTC().Truncate(time.Second)}
	if former > 0 && kept >= former {
		r.Former, r.EffectiveAt = kept, now.UTC().Truncate(time.Second)
	}
	return r
}

// EraseApplications erases the job applications whose time is over, and candidates with their last one, and announces what a
// new or shorter retention erases in a week. It returns how many it erased; the error is that of the first that it could not.
func (r *Retention) EraseApplications(ctx context.Context) (erased int, first error) {
	c, lease := r.InForce.Current(), r.Store.Lease("retention")
	if c == nil {
		return 0, nil
	}
	if held, err := lease.Hold(ctx, r.Now()); err != nil || !held {
		return 0, err
	}
	all, err := r.announce(ctx, c)
	if err != nil {
		return 0, err
	}
	for len(all) > 0 {
		of := all
		if n := slices.IndexFunc(all, func(one model.ApplicationRetention) bool { return one.Tenant != all[0].Tenant }); n > 0 {
			of = all[:n]
		}
		all = all[len(of):]
		n, more, err := r.eraseOverdue(ctx, lease, of)
		erased, first = erased+n, cmp.Or(first, err)
		if !more {
			return erased, first
		}
	}
	return erased, first
}

// announce stores for how long job applications are kept from now on, and how many a change of that erases.
func (r *Retention) announce(ctx context.Context, c *config.Config) ([]model.ApplicationRetention, error) {
	before, err := r.Store.ListApplicationRetentions(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := r.Store.ListJobRetentions(ctx)
	if err != nil {
		return nil, err
	}
	all := announced(before, c, jobs, r.Now())
	if err := r.writeRetentions(ctx, before, all); err != nil {
		return nil, err
	}
	before = slices.Clone(all) // the filter of the count reads what is written
	for n := range all {
		all[n].Announced = 0
		last := n == len(all)-1 || all[n+1].Tenant != all[n].Tenant
		if at := announcement(all[:n+1]); last && r.Now().Before(at) {
			if all[n].Announced, _, err = r.Store.CountListed(ctx, all[n].Tenant, store.ApplicationFilter{
				Order: store.OldestFirst, ErasedBefore: at.Add(time.Second)}); err != nil {
				return nil, err
			}
		}
	}
	return all, r.writeRetentions(ctx, before, all)
}

// announcement returns when the last retention of the tenant that the last one is of takes effect.
func announcement(all []model.ApplicationRetention) (at time.Time) {
	for n := len(all) - 1; n >= 0 && all[n].Tenant == all[len(all)-1].Tenant; n-- {
		if all[n].EffectiveAt.After(at) {
			at = all[n].EffectiveAt
		}
	}
	return at
}

// writeRetentions writes what of retentions is other than before.
func (r *Retention) writeRetentions(ctx context.Context, before, all []model.ApplicationRetention) error {
	gone := map[place]model.ApplicationRetention{}
	for _, one := range before {
		gone[place{one.Tenant, one.Job}] = one
	}
	var changed []model.ApplicationRetention
	for _, one := range all {
		if gone[place{one.Tenant, one.Job}] != one {
			changed = append(changed, one)
		}
		delete(gone, place{one.Tenant, one.Job})
	}
	if len(changed)+len(gone) == 0 {
		return nil
	}
	return r.Store.Write(ctx, func(tx *store.Tx) error {
		for _, one := range changed {
			if err := tx.UpsertApplicationRetention(one); err != nil {
				return err
			}
		}
		for _, one := range gone {
			if err := tx.DeleteApplicationRetention(one); err != nil {
				return err
			}
		}
		return nil
	})
}

// eraseOverdue erases the job applications of a tenant whose time is over, each in a transaction, and pauses after some for
// twice as long as they took. It reports whether there is more to do: not while another node does it.
func (r *Retention) eraseOverdue(ctx context.Context, lease *store.Lease, of []model.ApplicationRetention) (erased int, more bool, first error) {
	tenant, shortest, failed := of[0].Tenant, longest, 0
	for _, one := range of {
		if kept := one.At(r.Now()); kept > 0 {
			shortest = min(shortest, kept)
		}
	}
	defer func() { first = cmp.Or(first, r.auditErased(ctx, tenant, erased)) }()
	for after := (store.ErasableApplication{}); ; {
		page, err := r.Store.ListErasableApplications(ctx, tenant, after, shortest, r.Now())
		if err != nil || len(page) == 0 {
			return erased, err == nil, cmp.Or(first, err)
		}
		after = page[len(page)-1]
		for some := range slices.Chunk(page, together) {
			began := time.Now()
			if held, err := lease.Hold(ctx, r.Now()); err != nil || !held {
				return erased, false, cmp.Or(first, err)
			}
			for _, a := range some {
				done, err := r.eraseApplication(ctx, tenant, a.ID)
				if err != nil {
					first = cmp.Or(first, fmt.Errorf("job application %s of %s: %w", a.ID, tenant, err))
					if failed++; failed == enough {
						return erased, false, first
					}
				}
				if done {
					erased++
				}
			}
			if !wait.For(ctx, 2*time.Since(began)) {
				return erased, false, cmp.Or(first, ctx.Err())
			}
		}
	}
}

// eraseApplication erases a job application whose time is over. A candidate that goes with it is entered in the list of
// erasures, so that no archive brings them back.
func (r *Retention) eraseApplication(ctx context.Context, tenant, id string) (done bool, err error) {
	enter := r.entering()
	err = r.Store.Write(ctx, func(tx *store.Tx) (err error) {
		var candidate bool
		var of string
		if done, candidate, of, err = tx.EraseApplication(tenant, id, r.Now()); err != nil || !candidate {
			return err
		}
		return enter(tx, erasure.Candidate, tenant, of)
	})
	return done && err == nil, err
}

// auditErased writes how many job applications of a tenant were erased.
func (r *Retention) auditErased(ctx context.Context, tenant string, erased int) error {
	if erased == 0 {
		return nil
	}
	return r.Store.Write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.InsertAudit(model.AuditEntry{At: r.Now(), Author: model.Author{Actor: Actor}, Action: "erase", Tenant: tenant,
			Object: "job-applications", Detail: fmt.Sprintf("%d, whose time was over", erased)})
	})
}
