package console

import (
	"errors"
	"maps"
	"net/http"
	"net/url"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// answered is a job application with its answers.
type answered struct {
	api.Answers
	Application model.JobApplication
	None        bool // it did not come by the Apply API
}

// showAnswers shows a candidate, with what they sent with a job application. Nothing leads on to that page: each look at
// answers is a POST in the audit.
func showAnswers(v *visitor) error {
	path, a, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	sent := &answered{Application: a}
	err = v.post(path+"/answers", nil, &sent.Answers)
	if sent.None = errors.Is(err, errNotFound); err != nil && !sent.None {
		return err
	}
	return v.showCandidate(http.StatusOK, &candidatePage{Sent: sent})
}

// downloadFile serves a file of a job application.
func downloadFile(v *visitor) error {
	path, _, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	return v.download(path + "/documents/" + url.PathEscape(v.PathValue("document")) + "/content")
}

// downloadFiles serves the files of a job application as a ZIP archive.
func downloadFiles(v *visitor) error {
	path, _, err := v.applicationOfPath()
	if err != nil {
		return err
	}
	return v.download(path + "/files")
}

// download serves a file that the management API has at a path. What that refuses is a *failure.
func (v *visitor) download(path string) error {
	r, err := http.NewRequestWithContext(model.WithPerson(v.Context(), v.person), http.MethodGet, path, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/octet-stream")
	p := &passedOn{answer: answer{header: http.Header{}}, to: v.w}
	v.console.API.ServeHTTP(p, r)
	return p.refusal()
}

// passedOn is an answer of the management API that is passed on while it comes, and kept if it is a refusal.
type passedOn struct {
	answer
	to http.ResponseWriter
}

func (p *passedOn) WriteHeader(status int) {
	if p.status == 0 && status == http.StatusOK {
		maps.Copy(p.to.Header(), p.header)
		p.to.WriteHeader(status)
	}
	p.answer.WriteHeader(status)
}

func (p *passedOn) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.WriteHeader(http.StatusOK)
	}
	if p.status == http.StatusOK {
		return p.to.Write(b)
	}
	return p.answer.Write(b)
}
