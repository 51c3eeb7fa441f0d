package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/loop"
)

// sealing are the loops that seal what is stored as the keys of the configuration in force say. What fails is tried again
// in a minute.
func (r *Runtime) sealing() []loop.Loop {
	all := []loop.Loop{
		{Name: "secrets", First: loop.AtOnce, Round: r.reseal(), Failed: "stored secrets could not be sealed; it is tried again"},
		{Name: "data_keys", First: loop.AtOnce, Round: r.renew,
			Failed: "no data key for the content of exports could be made; it is tried again"},
		{Name: "people", Round: r.sealPeople(),
			Failed: "some stored candidates, job applications or answers could not be sealed; it is tried again"},
	}
	for n := range all {
		all[n].Every, all[n].Level = time.Second, gravely
		all[n].Pace = func(_ time.Duration, err error) time.Duration {
			if err != nil {
				return time.Minute
			}
			return time.Second
		}
	}
	return all
}

func gravely(error) zapcore.Level { return zap.ErrorLevel }

// reseal re-encrypts the stored secrets with the newest key, after each change of configuration, once a single one is
// in use.
func (r *Runtime) reseal() func(context.Context) error {
	done := 0
	return func(ctx context.Context) error {
		v, changes := r.database.vaults.Sole()
		if v == nil || !v.HasKey() || changes == done {
			return nil
		}
		n, err := r.Store().Reencrypt(ctx, v)
		if n > 0 {
			r.log.Info("stored secrets were sealed with the first key of seal_key", zap.Int("secrets", n))
		}
		if err == nil {
			done = changes
		}
		return err
	}
}

// sealPeople seals, once, what is stored plainly of candidates, applications and answers, from the first reload with a key
// on.
func (r *Runtime) sealPeople() func(context.Context) error {
	done := false
	return func(ctx context.Context) error {
		if done || !r.Store().SealsPeople() {
			return nil
		}
		n, err := r.Store().SealPeople(ctx)
		if n > 0 {
			r.log.Info("stored candidates, job applications and answers were sealed", zap.Int("rows", n))
		}
		done = err == nil
		return err
	}
}

// lists has found in lists what was sealed, and what a node of an earlier release stored, or stores beside this one.
func (r *Runtime) lists(ctx context.Context) error {
	n, err := r.Store().CompleteLists(ctx, r.now())
	if n > 0 {
		r.log.Info("lists of stored candidates, jobs and job applications were completed", zap.Int("rows", n))
	}
	return err
}

// closeJobs closes the jobs whose time has come.
func (r *Runtime) closeJobs(ctx context.Context) error {
	n, err := r.Store().CloseJobs(ctx, r.now())
	if n > 0 {
		r.log.Info("jobs were closed, as their time had come", zap.Int("jobs", n))
	}
	return err
}

// renew seals the content of exports from the first reload with a key on, and makes another data key each month.
func (r *Runtime) renew(ctx context.Context) error {
	made, err := r.database.renew(ctx, r.now())
	if made {
		r.log.Info("a data key for the content of exports was made")
	}
	return err
}
