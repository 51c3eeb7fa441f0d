package recruiting

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// submissions serves the applications that are relayed to a tenant's service, the newest first; those of a tenant that is
// not configured any more, too.
var submissions = rest.Resource[*model.Submission]{
	Path: rest.InTenant + "/submissions", ID: "id", Kind: "submission", Scope: rest.Removed, Reader: model.Viewer, Filters: api.SubmissionFilters,
	List: listSubmissions, Find: findSubmission, View: rest.ViewAs(SubmissionOf),
}

// SubmissionOf returns a submission as the API shows it.
func SubmissionOf(s *model.Submission) api.Submission {
	return api.Submission{ID: s.ID, Tenant: s.Tenant, Job: s.Job, Title: s.Title, State: s.State, Attempts: s.Attempts, Reason: s.Reason,
		Uncertain: s.Uncertain, Note: s.Noted, ReceivedAt: s.ReceivedAt, NextAt: s.NextAt, TryUntil: s.TryUntil,
		EndedAt: s.EndedAt, ErasedAt: s.ErasedAt, LastAttempts: s.LastAttempts}
}

func listSubmissions(r *rest.Request) ([]*model.Submission, string, error) {
	f := store.SubmissionFilter{State: model.SubmissionState(r.Query.Get("state")), ID: r.Query.Get("receipt"),
		Email: r.Query.Get("email")}
	if f.State != "" && !slices.Contains(model.SubmissionStates, f.State) {
		return nil, "", problem.New(http.StatusBadRequest, "state: write one of waiting, delivered, refused, failed, suspected, resolved")
	}
	if r.Page.After != "" {
		before, err := strconv.ParseInt(r.Page.After, 10, 64)
		if err != nil {
			return nil, "", problem.New(http.StatusBadRequest, "cursor: it is none of this list")
		}
		f.Before = before
	}
	size := r.Page.Rows().Size()
	f.Limit = size + 1
	tenant := r.PathValue("tenant")
	if _, unknown := r.ConfiguredTenant(); unknown != nil {
		kept, err := r.DB.ListSubmissions(r.Context(), tenant, store.SubmissionFilter{Limit: 1})
		if err == nil && len(kept) == 0 {
			err = unknown
		}
		if err != nil {
			return nil, "", err
		}
	}
	all, err := r.DB.ListSubmissions(r.Context(), tenant, f)
	if err != nil || len(all) <= size {
		return all, "", err
	}
	return all[:size], strconv.FormatInt(all[size-1].Key, 10), nil
}

var noSubmission = problem.New(http.StatusNotFound, "this tenant has no submission of that id")

func findSubmission(r *rest.Request) (*model.Submission, error) {
	s, err := r.DB.Submission(r.Context(), r.PathValue("tenant"), r.PathValue("id"))
	if err == nil {
		s.LastAttempts, err = r.DB.SubmissionAttempts(r.Context(), s)
	}
	if _, unknown := r.ConfiguredTenant(); errors.Is(err, store.ErrNotFound) && unknown != nil {
		err = unknown
	}
	return s, rest.NotFound(err, noSubmission)
}

// redeliverSubmission has a submission sent again that was refused, has failed or is suspected.
func redeliverSubmission(r *rest.Request) (any, error) {
	if r.Tenant.ApplyUpstream == nil {
		return nil, problem.Newf(http.StatusConflict, "tenant %s has no apply_upstream: there is no service to send it to",
			r.Tenant.Name)
	}
	return changeSubmission(r, func(tx *store.Tx, s *model.Submission) (bool, error) {
		now := r.Now()
		return tx.RedeliverSubmission(s, now, now.Add(r.Tenant.ApplyUpstream.TryFor))
	}, "only a submission that was refused, has failed or is suspected, and that was not erased, is sent again")
}

// resolveSubmission notes that a submission was entered at the service by hand.
func resolveSubmission(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.SubmissionResolution](r)
	if err != nil {
		return nil, err
	}
	if in.Note == "" || utf8.RuneCountInString(in.Note) > 500 {
		return nil, problem.New(http.StatusUnprocessableEntity,
			"note: say in 1 to 500 characters where the application is at the service; nothing of the applicant")
	}
	return changeSubmission(r, func(tx *store.Tx, s *model.Submission) (bool, error) {
		return tx.ResolveSubmission(s, in.Note, r.Now())
	}, "only a submission that was refused, has failed or is suspected can be resolved")
}

// eraseSubmission erases what the applicant sent. One that waits is not sent any more.
func eraseSubmission(r *rest.Request) (any, error) {
	enter := r.Gateway.Runtime.Retention.Enter(erasure.Submission, r.PathValue("tenant"), r.PathValue("id"))
	return changeSubmission(r, func(tx *store.Tx, s *model.Submission) (bool, error) {
		if !s.ErasedAt.IsZero() {
			return true, nil
		}
		if _, err := tx.EraseSubmission(s, r.Now()); err != nil {
			return false, err
		}
		return true, enter(tx)
	}, "")
}

// changeSubmission changes the submission that the path names, and returns it. unchanged says why that was not possible.
func changeSubmission(r *rest.Request, change func(*store.Tx, *model.Submission) (bool, error),
	unchanged string) (any, error) {
	s, err := findSubmission(r)
	if err != nil {
		return nil, err
	}
	if err := r.Update(func(tx *store.Tx) error {
		changed, err := change(tx, s)
		if err == nil && !changed {
			err = problem.New(http.StatusConflict, fmt.Sprintf("the submission is %s: %s", s.State, unchanged))
		}
		return err
	}); err != nil {
		return nil, err
	}
	if s, err = findSubmission(r); err != nil {
		return nil, err
	}
	return SubmissionOf(s), nil
}
