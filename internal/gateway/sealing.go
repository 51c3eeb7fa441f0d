package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/wait"
)

// reseal re-encrypts the stored secrets with the newest key, after each change of configuration, once a single one is
// in use.
func (r *Runtime) reseal(ctx context.Context) {
	done, failed := 0, false
	for gap := time.Duration(0); ctx.Err() == nil; wait.For(ctx, gap) {
		gap = time.Second
		v, changes := r.database.vaults.Sole()
		if v == nil || !v.HasKey() || changes == done {
			continue
		}
		n, err := r.Store().Reencrypt(ctx, v)
		if n > 0 {
			r.log.Info("stored secrets were sealed with the first key of seal_key", zap.Int("secrets", n))
		}
		switch {
		case err == nil:
			done, failed = changes, false
		case !failed && ctx.Err() == nil:
			r.log.Error("stored secrets could not be sealed; it is tried again", zap.Error(err))
			failed = true
		}
		if failed {
			gap = time.Minute
		}
	}
}

// sealPeople seals, once, what is stored plainly of candidates, applications and answers, from the first reload with a key
// on.
func (r *Runtime) sealPeople(ctx context.Context) {
	failed := false
	r.completeLists(ctx)
	for gap := time.Second; ctx.Err() == nil; wait.For(ctx, gap) {
		if !r.Store().SealsPeople() {
			continue
		}
		n, err := r.Store().SealPeople(ctx)
		if n > 0 {
			r.log.Info("stored candidates, job applications and answers were sealed", zap.Int("rows", n))
		}
		if n > 0 {
			r.completeLists(ctx)
		}
		if err == nil {
			return
		}
		if !failed && ctx.Err() == nil {
			r.log.Error("some stored candidates, job applications or answers could not be sealed; it is tried again",
				zap.Error(err))
		}
		failed, gap = true, time.Minute
	}
}

// completeLists has what an earlier release stored, or what is sealed now, be found in lists.
func (r *Runtime) completeLists(ctx context.Context) {
	for failed := false; ctx.Err() == nil; wait.For(ctx, time.Minute) {
		n, err := r.Store().CompleteLists(ctx, r.now())
		if n > 0 {
			r.log.Info("lists of stored candidates and job applications were completed", zap.Int("rows", n))
		}
		if err == nil {
			return
		}
		if !failed && ctx.Err() == nil {
			r.log.Error("some stored candidates or job applications are not found in lists; it is tried again", zap.Error(err))
		}
		failed = true
	}
}

// renew seals the content of exports from the first reload with a key on, and makes another data key each month.
func (r *Runtime) renew(ctx context.Context) {
	failed := false
	for gap := time.Duration(0); ctx.Err() == nil; wait.For(ctx, gap) {
		gap = time.Second
		made, err := r.database.renew(ctx, r.now())
		switch {
		case made:
			r.log.Info("a data key for the content of exports was made")
		case err != nil && !failed && ctx.Err() == nil:
			r.log.Error("no data key for the content of exports could be made; it is tried again", zap.Error(err))
		}
		if failed = err != nil; failed {
			gap = time.Minute
		}
	}
}
