package manageapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/recruiting"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// dumpCandidate answers with all that is held of a candidate, as a tar archive (GDPR article 15). It has an entry in the
// audit before anything is read.
func dumpCandidate(r *rest.Request) (any, error) {
	d := &dump{Request: r, tenant: r.PathValue("tenant"), candidate: r.PathValue("id")}
	if len(d.candidate) > longestCandidate || model.CandidateKey(d.candidate) != d.candidate {
		return nil, problem.Newf(http.StatusUnprocessableEntity,
			"exports are not found by an id of more than %d bytes, or with a U+0000 in it", longestCandidate)
	}
	held, err := d.held()
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, problem.New(http.StatusNotFound, "nothing is held of a candidate of that id: check the id and the tenant; "+
			"what was erased has no candidate any more")
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return rest.Stream(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", api.DumpType)
		return d.write(w)
	}), nil
}

// dump is a request for all that is held of a candidate.
type dump struct {
	*rest.Request
	tenant, candidate string
	archive           *dumpArchive
	audit             []store.AuditFilter // what entries of the audit may be about
}

// held reports whether anything is held of the candidate.
func (d *dump) held() (bool, error) {
	_, err := d.DB.Candidate(d.Context(), d.tenant, d.candidate)
	if !errors.Is(err, store.ErrNotFound) {
		return err == nil, err
	}
	page, err := d.DB.ListJobApplications(d.Context(), d.tenant, store.ApplicationFilter{Candidate: d.candidate, Limit: 1})
	if err != nil || len(page.Items) > 0 {
		return err == nil, err
	}
	exports, _, err := d.DB.ListExports(d.Context(), d.exports(1))
	if err != nil || len(exports) > 0 {
		return err == nil, err
	}
	entries, _, err := d.DB.ListAudit(d.Context(), store.AuditFilter{Tenant: d.tenant, Object: d.object(), Limit: 1})
	return len(entries) > 0, err
}

func (d *dump) object() string { return "candidates/" + d.candidate }

func (d *dump) exports(limit int) store.ExportFilter {
	return store.ExportFilter{Tenant: d.tenant, Candidate: d.candidate, Oldest: true, Limit: limit}
}

func (d *dump) write(w io.Writer) error {
	d.archive = newDumpArchive(w, d.Gateway.Runtime.Archive.Files,
		api.DumpIndex{Tenant: d.tenant, Candidate: d.candidate, At: d.Now()})
	d.audit = []store.AuditFilter{{Object: d.object()}}
	c, err := d.DB.Candidate(d.Context(), d.tenant, d.candidate)
	if !errors.Is(err, store.ErrNotFound) { // it is not one of the service role
		err = d.archive.json("candidate.json", "what is stored of the candidate", c, err)
		if err != nil {
			return err
		}
	}
	for _, part := range []func() error{d.writeApplications, d.writeExports, d.writeSubmissions, d.writeAudit, d.archive.close} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (d *dump) writeApplications() error {
	f := store.ApplicationFilter{Candidate: d.candidate, Order: store.OldestFirst}
	for n := 0; ; {
		page, err := d.DB.ListJobApplications(d.Context(), d.tenant, f)
		if err != nil {
			return err
		}
		for _, a := range page.Items {
			n++
			folder := fmt.Sprintf("applications/%04d/", n)
			if err := d.writeApplication(folder, a.JobApplication); err != nil {
				return err
			}
			if err := d.writeVersions(folder, a.JobApplication); err != nil {
				return err
			}
		}
		if f.After = page.End; !page.More {
			return nil
		}
	}
}

func (d *dump) writeVersions(folder string, a *model.JobApplication) error {
	p := store.Page{Limit: store.MaxPage}
	for n := 0; ; {
		page, next, err := d.DB.ListApplicationVersions(d.Context(), a.Tenant, a.ID, p)
		if err != nil {
			return err
		}
		for _, v := range page {
			n++
			if err := d.writeApplication(fmt.Sprintf("%sversions/%04d/", folder, n), v); err != nil {
				return err
			}
		}
		if p.After = next; next == "" {
			return nil
		}
	}
}

func (d *dump) writeApplication(folder string, a *model.JobApplication) error {
	object := "job-applications/" + a.ID
	d.audit = append(d.audit, store.AuditFilter{Object: object}, store.AuditFilter{Below: object + "/documents/"})
	err := d.archive.json(folder+"application.json", "a job application", a, nil)
	if err != nil {
		return err
	}
	answers, err := d.DB.ApplicationAnswers(d.Context(), a.Tenant, a.ID)
	if !errors.Is(err, store.ErrNotFound) { // it did not come by the Apply API
		err = d.archive.json(folder+"answers.json", "questions as they were asked, and the answers", answers, err)
		if err != nil {
			return err
		}
	}
	if err := d.writeComplianceAnswers(folder, a); err != nil {
		return err
	}
	if err := d.writeTransitions(folder, a); err != nil {
		return err
	}
	return d.writeApplicationDocuments(folder, a)
}

func (d *dump) writeComplianceAnswers(folder string, a *model.JobApplication) error {
	given, err := d.DB.ListComplianceAnswers(d.Context(), a.Tenant, a.ID)
	if err == nil && len(given) == 0 {
		return nil
	}
	all := make([]api.DumpedCompliance, len(given))
	for n, c := range given {
		all[n] = api.DumpedCompliance{Group: c.Group, Question: c.Question, Value: c.Value, AnsweredAt: c.AnsweredAt}
		if form, ok := compliance.Find(c.Group); ok {
			asked := slices.IndexFunc(form.Questions, func(q model.Question) bool { return q.ID == c.Question })
			if asked >= 0 {
				all[n].Label = form.Questions[asked].Label
			}
		}
	}
	return d.archive.json(folder+"compliance-answers.json", "answers to the questions of compliance groups", all, err)
}

func (d *dump) writeTransitions(folder string, a *model.JobApplication) error {
	var all []api.Transition
	for before := int64(0); ; {
		page, next, err := d.DB.ListTransitions(d.Context(), a.Tenant, a.ID, before, store.MaxPage)
		if err != nil {
			return err
		}
		for _, t := range page {
			all = append(all, recruiting.TransitionOf(t))
		}
		if before = next; next == 0 {
			break
		}
	}
	if len(all) == 0 {
		return nil
	}
	return d.archive.json(folder+"transitions.json", "the steps that it entered, the last one first", all, nil)
}

func (d *dump) writeApplicationDocuments(folder string, a *model.JobApplication) error {
	var all []api.DumpedUpload
	for after := int64(0); ; {
		page, next, err := d.DB.ListApplicationDocuments(d.Context(), a.Tenant, a.ID, after, store.MaxPage)
		if err != nil {
			return err
		}
		for _, one := range page {
			name := fmt.Sprintf("%sdocuments/%04d", folder, len(all)+1)
			file, err := d.archive.document(name, one.Blob, one.Size, one.SHA256)
			if err != nil {
				return err
			}
			all = append(all, api.DumpedUpload{Document: api.DocumentOf(one), File: file})
		}
		if after = next; next == 0 {
			break
		}
	}
	if len(all) == 0 {
		return nil
	}
	return d.archive.json(folder+"documents.json", "the documents, with their names and files", all, nil)
}

// writeSubmissions writes the submissions of applicants who have an e-mail address of the candidate.
func (d *dump) writeSubmissions() error {
	emails, err := emailsOf(d.Request, d.tenant, d.candidate)
	if err != nil {
		return err
	}
	all, err := submissionsOf(d.Request, d.tenant, emails)
	if err != nil {
		return err
	}
	for n, s := range all {
		folder := fmt.Sprintf("submissions/%04d/", n+1)
		d.audit = append(d.audit, store.AuditFilter{Object: "submissions/" + s.ID})
		if err := d.archive.json(folder+"submission.json", "an application on its way to the service", recruiting.SubmissionOf(s), nil); err != nil {
			return err
		}
		c, err := d.DB.SubmissionContent(d.Context(), s)
		if err := d.archive.json(folder+"content.json", "the answers, and what the service said about them", c, err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		for i, a := range c.Answers {
			if a.Blob == "" {
				continue
			}
			if _, err := d.archive.document(fmt.Sprintf("%sfiles/%04d", folder, i+1), a.Blob, a.Size, a.SHA256); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeAudit writes who did what to anything of the candidate. What is about exports is in it, too.
func (d *dump) writeAudit() error {
	all := []model.AuditEntry{}
	for _, about := range d.audit {
		about.Tenant, about.Limit = d.tenant, store.MaxPage
		for {
			page, next, err := d.DB.ListAudit(d.Context(), about)
			if err != nil {
				return err
			}
			all = append(all, page...)
			if about.Before = next; next == (store.AuditCursor{}) {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b model.AuditEntry) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return d.archive.json("audit.json", "who did what to any of this, the oldest first", all, nil)
}
