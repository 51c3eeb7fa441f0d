package apply

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/apply/form"
)

// formActor identifies an applicant's form in the audit; no user has such an id.
const formActor = "form"

// OpenJob implements form.Applications.
func (a *API) OpenJob(ctx context.Context, tenant, code string) (*model.Job, error) {
	return a.backendOf(tenant, (&http.Request{}).WithContext(ctx)).openJob(code)
}

// Notice implements form.Applications.
func (a *API) Notice(ctx context.Context, tenant, group string) (model.ComplianceNotice, bool) {
	return a.backendOf(tenant, (&http.Request{}).WithContext(ctx)).notice(group)
}

// AcceptForm implements form.Applications.
func (a *API) AcceptForm(w http.ResponseWriter, r *http.Request, sent form.Application) (receipt string, err error) {
	s := a.received(w, r, &caller{user: &model.APIUser{ID: formActor + ":" + sent.Tenant, Tenant: sent.Tenant, Name: formActor}})
	s.in, s.once, s.form, s.refused = sent.Body, []string{sent.Key}, true, sent.Suspected
	if err = s.take(w); err == nil {
		return s.id, nil
	}
	refused, ok := errors.AsType[*problem.Problem](err)
	switch {
	case !ok:
		return "", err
	case refused == errNoJob:
		return "", &form.Refused{Status: http.StatusNotFound, Closed: true}
	case refused == errOtherBody:
		return "", form.ErrOtherBody
	}
	out := &form.Refused{Status: refused.Status, After: time.Minute}
	out.Wrong, _ = refused.Findings.([]model.InvalidAnswer)
	if _, theirs := errors.AsType[serviceRefusal](err); theirs {
		out.Said = refused.Detail
	}
	return "", out
}

// Standing implements form.Applications. A submission that may be a machine's is received, and no more: who sent it is
// not told what looks like one.
func (a *API) Standing(ctx context.Context, tenant, receipt string) (form.Standing, error) {
	_, err := a.db().JobApplication(ctx, tenant, receipt)
	if !errors.Is(err, store.ErrNotFound) {
		return form.Received, err
	}
	s, err := a.db().Submission(ctx, tenant, receipt)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return form.Unknown, nil
	case err != nil:
		return form.Unknown, err
	}
	switch {
	case s.State == model.SubmissionDelivered, s.State == model.SubmissionResolved:
		return form.PassedOn, nil
	case !s.ErasedAt.IsZero():
		return form.Unknown, nil
	case s.State == model.SubmissionRefused, s.State == model.SubmissionFailed:
		return form.LookedInto, nil
	}
	return form.Received, nil
}
