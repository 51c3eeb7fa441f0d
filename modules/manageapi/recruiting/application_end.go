package recruiting

import (
	"cmp"
	"net/http"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// endApplication ends a job application. A repeat changes nothing.
func endApplication(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.EndInput](r)
	if err != nil {
		return nil, err
	}
	end := model.End{As: in.As, Reason: in.Reason, At: r.Now()}
	if err := rest.Invalid(end.Validate()); err != nil {
		return nil, err
	}
	return changeEnd(r, func(now *model.End) (*model.End, error) {
		switch {
		case now == nil:
			return &end, nil
		case now.As == end.As && now.Reason == end.Reason:
			return now, nil
		}
		return nil, problem.Newf(http.StatusConflict, "the job application has ended already, as %s: reopen it first", now.As)
	})
}

// reopenApplication has a job application that ended be open again. A repeat changes nothing.
func reopenApplication(r *rest.Request) (any, error) {
	return changeEnd(r, func(*model.End) (*model.End, error) { return nil, nil })
}

// changeEnd puts another end in the place of the one that a job application has.
func changeEnd(r *rest.Request, to func(now *model.End) (*model.End, error)) (any, error) {
	var a *model.JobApplication
	err := r.Update(func(tx *store.Tx) error {
		var ok bool
		var err error
		if a, ok, err = tx.JobApplication(r.Tenant.Name, r.PathValue("id")); err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.Expect(""), noApplication)
		}
		if err := r.Expect(rest.Tag(&a.Row)); err != nil {
			return err
		}
		if err := checkNoVersion(a); err != nil {
			return err
		}
		before := a.Ended
		if a.Ended, err = to(before); err != nil {
			return err
		}
		if err := r.Note(tx, rest.PathOf("/v1/tenants", a.Tenant, "job-applications", a.ID)); err != nil || a.Ended == before {
			return err
		}
		return tx.UpsertJobApplication(a, r.Gateway.Now())
	})
	if err != nil {
		return nil, err
	}
	r.ETag = rest.Tag(&a.Row)
	return a, nil
}

// endedBefore answers the repeat of a request that ended or reopened a job application.
func endedBefore(r *rest.Request, _ string) (any, error) {
	a, err := applicationOf(r)
	if err == nil {
		r.ETag = rest.Tag(&a.Row)
	}
	return a, err
}
