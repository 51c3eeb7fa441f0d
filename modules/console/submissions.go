package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// submissionList is the template data of a list of submissions.
type submissionList struct {
	tenantList[api.Submission]
	State  string
	States []model.SubmissionState
	Sought bool // they are those that a search found
}

// listSubmissions shows the submissions of a tenant.
func listSubmissions(v *visitor) error {
	shown, err := ofTenant[api.Submission](v, "submissions", "state")
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "submissions", "Submissions", &submissionList{tenantList: shown,
		State: v.URL.Query().Get("state"), States: model.SubmissionStates})
}

// seekSubmission looks for submissions by their receipt, or by the applicant's e-mail address. It is a POST, so that the
// address of a person is in no address of a page. The only one that is found is led to.
func seekSubmission(v *visitor) error {
	shown := submissionList{Sought: true, States: model.SubmissionStates}
	shown.Tenant = cmp.Or(v.PostFormValue("tenant"), v.person.Tenant)
	sought := strings.TrimSpace(v.PostFormValue("sought"))
	if shown.Tenant == "" || sought == "" {
		return v.redirect("/submissions?" + url.Values{"tenant": {shown.Tenant}}.Encode())
	}
	query := url.Values{"receipt": {sought}}
	if strings.Contains(sought, "@") {
		query = url.Values{"email": {sought}}
	}
	if err := v.get(at("tenants", shown.Tenant, "submissions"), query, &shown.List); err != nil {
		return err
	}
	switch len(shown.Items) {
	case 0:
		return v.page(http.StatusNotFound, "submissions", "Submissions", &shown)
	case 1:
		return v.redirect(pathOf("submissions", shown.Tenant, shown.Items[0].ID))
	}
	return v.page(http.StatusOK, "submissions", "Submissions", &shown)
}

// submission is the template data of a submission.
type submission struct {
	api.Submission
	Sent  *api.SubmissionAnswers // nil: nobody asked for them
	Wrong *failure               // why nothing was done; nil: nothing was refused
}

// Acted reports whether a person may redeliver or resolve it.
func (s *submission) Acted() bool {
	return slices.Contains([]model.SubmissionState{model.SubmissionRefused, model.SubmissionFailed, model.SubmissionSuspected},
		s.State)
}

// Unsent reports whether it was suspected when it came, and nobody has sent it yet: to send it is to release it.
func (s *submission) Unsent() bool { return s.State == model.SubmissionSuspected && s.Attempts == 0 }

func showSubmission(v *visitor) error { return v.submission(http.StatusOK, &submission{}) }

func (v *visitor) submission(status int, shown *submission) error {
	if err := v.get(at("tenants", v.PathValue("tenant"), "submissions", v.PathValue("id")), nil, &shown.Submission); err != nil {
		return err
	}
	return v.page(status, "submission", "Submission", shown)
}

// showSubmissionAnswers shows a submission with what the applicant sent. Nothing leads on to that page: each look at
// answers is a POST in the audit.
func showSubmissionAnswers(v *visitor) error {
	shown := &submission{Sent: new(api.SubmissionAnswers)}
	path := at("tenants", v.PathValue("tenant"), "submissions", v.PathValue("id"), "show")
	if err := v.post(path, nil, shown.Sent); err != nil {
		return err
	}
	return v.submission(http.StatusOK, shown)
}

// downloadSubmission serves the files of a submission as a ZIP archive.
func downloadSubmission(v *visitor) error {
	return v.download(at("tenants", v.PathValue("tenant"), "submissions", v.PathValue("id"), "archive"))
}

// actOnSubmission redelivers, resolves or erases a submission.
func actOnSubmission(action string) handler {
	return func(v *visitor) error {
		of, id := v.PathValue("tenant"), v.PathValue("id")
		var body any
		if action == "resolve" {
			body = api.SubmissionResolution{Note: v.PostFormValue("note")}
		}
		var changed api.Submission
		wrong, err := refusal(v.post(at("tenants", of, "submissions", id, action), body, &changed))
		switch {
		case err != nil:
			return err
		case wrong != nil:
			return v.submission(wrong.status, &submission{Wrong: wrong})
		}
		done := action
		if action == "redeliver" && changed.Attempts == 0 { // a suspected one, that was never sent
			done = "release"
		}
		return v.redirect(pathOf("submissions", of, id) + "?done=submission-" + done)
	}
}
