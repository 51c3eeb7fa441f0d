package manageapi

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/hropen"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

var noErasures = problem.New(http.StatusConflict, retention.ErrNoList.Error())

// showErasureKey answers the key that receipts are checked with.
func showErasureKey(r *rest.Request) (any, error) {
	list := r.Gateway.Runtime.Retention.List
	if list == nil {
		return nil, noErasures
	}
	return api.ErasureKey{Key: list.Key()}, nil
}

// mostErased is how many candidates one request names at most.
const mostErased = 100

// erasePerson erases all that a tenant has of a person, or of several, and answers with a signed receipt.
func erasePerson(r *rest.Request) (any, error) {
	tenant := r.PathValue("tenant")
	if err := knownTenant(r, tenant); err != nil {
		return nil, err
	}
	in, err := rest.Decode[api.ErasePersonInput](r)
	if err != nil {
		return nil, err
	}
	named := in.Candidates
	if in.Candidate != "" {
		named = append(slices.Clone(named), in.Candidate)
	}
	switch {
	case (len(named) == 0) == (in.Email == ""), in.Candidate != "" && len(named) > 1:
		return nil, problem.New(http.StatusUnprocessableEntity,
			`name either a candidate, several, or an e-mail address, as {"candidate":"c-1"} or {"candidates":["c-1","c-2"]}`)
	case len(named) > mostErased:
		return nil, problem.Newf(http.StatusUnprocessableEntity, "more than %d candidates are named: erase them in parts", mostErased)
	case slices.ContainsFunc(named, func(id string) bool {
		return id == "" || len(id) > longestCandidate || model.CandidateKey(id) != id
	}):
		return nil, problem.Newf(http.StatusUnprocessableEntity,
			"exports are not found by an empty id, one of more than %d bytes, or with a U+0000 in it: erase each of them by its UUID",
			longestCandidate)
	case r.Gateway.Runtime.Retention.List == nil:
		return nil, noErasures
	}
	found := &people{ids: map[string]bool{}}
	emails := []string{in.Email}
	for _, id := range named {
		found.ids[id] = true
		of, err := emailsOf(r, tenant, id)
		if err != nil {
			return nil, err
		}
		emails = append(emails, of...)
	}
	if in.Email != "" {
		if err := found.find(r, tenant, in.Email); err != nil {
			return nil, err
		}
	}
	if found.submitted, err = submissionsOf(r, tenant, emails); err != nil {
		return nil, err
	}
	if len(found.ids)+len(found.alone)+len(found.submitted) == 0 {
		return nil, problem.New(http.StatusNotFound, "nothing that can be read here has this e-mail address: check it, or name the candidate")
	}
	id := uuid.NewString()
	r.Object, r.Detail = "erasures/"+id, fmt.Sprintf("Candidates: %d.", len(found.ids))
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	// What is signed has no null where the answer has an empty array.
	receipt := &api.ErasureReceipt{ID: id, Tenant: tenant, Email: in.Email, Erased: []api.Erased{},
		Candidates: append([]string{}, slices.Sorted(maps.Keys(found.ids))...),
		List:       api.ErasedList{ID: r.Gateway.Runtime.Retention.List.ID()}}
	w := &receiptWriter{r: r, receipt: receipt}
	// Whoever asked may leave meanwhile: what was begun is completed.
	ctx, eraser := context.WithoutCancel(r.Context()), r.Gateway.Runtime.Retention
	for _, one := range receipt.Candidates {
		p, err := eraser.ErasePerson(ctx, tenant, one)
		if err != nil {
			return nil, err
		}
		w.add(p)
	}
	for _, e := range found.alone {
		p, err := eraser.ErasePersonsExport(ctx, e)
		if err != nil {
			return nil, err
		}
		w.add(p)
	}
	for _, s := range found.submitted {
		p, err := eraser.ErasePersonsSubmission(ctx, s)
		if err != nil {
			return nil, err
		}
		w.add(p)
	}
	if err := w.end(found.unread); err != nil {
		return nil, err
	}
	r.Logged = append(r.Logged, zap.String("receipt", id), zap.Int("erased", len(w.all.Exports)))
	signature, err := r.Gateway.Runtime.Retention.List.Sign(receipt)
	return api.SignedErasureReceipt{Receipt: *receipt, Key: r.Gateway.Runtime.Retention.List.Key(), Signature: signature}, err
}

// people are the candidates that have an e-mail address.
type people struct {
	ids    map[string]bool
	alone  []*model.Export // exports that are not found by their candidate
	unread []*model.Export // exports whose body can't be read

	submitted []*model.Submission
}

// find finds those who have an e-mail address among a tenant's candidates, and in all bodies of exports.
func (p *people) find(r *rest.Request, tenant, email string) error {
	has := func(c *model.Candidate) bool {
		return slices.ContainsFunc(c.Email, func(one string) bool {
			return strings.EqualFold(model.ComparedEmail(one), model.ComparedEmail(email))
		})
	}
	for after := ""; ; {
		page, next, err := r.DB.ListCandidates(r.Context(), tenant, store.CandidateFilter{}, store.Page{After: after, Limit: store.MaxPage})
		if err != nil {
			return err
		}
		for _, c := range page {
			if has(c) {
				p.ids[c.ID] = true
			}
		}
		if after = next; after == "" {
			break
		}
	}
	for cursor := int64(0); ; {
		page, next, err := r.DB.ListExports(r.Context(), store.ExportFilter{Tenant: tenant, Cursor: cursor, Limit: store.MaxPage})
		if err != nil {
			return err
		}
		for _, e := range page {
			if !e.ErasedAt.IsZero() {
				continue
			}
			if err := r.DB.LoadBody(r.Context(), e); err != nil {
				if r.Context().Err() != nil {
					return err
				}
				p.unread = append(p.unread, e)
				continue
			}
			c, _, err := hropen.Read(r.Gateway.Config.Names, e.Body)
			e.Body, e.Sealed = nil, nil
			switch {
			case err != nil:
				p.unread = append(p.unread, e)
			case has(c) && (e.CandidateID == "" || len(e.CandidateID) > longestCandidate):
				p.alone = append(p.alone, e)
			case has(c):
				p.ids[e.CandidateID] = true
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// emailsOf returns the e-mail addresses of a candidate, here and in the exports that came.
func emailsOf(r *rest.Request, tenant, id string) ([]string, error) {
	var emails []string
	c, err := r.DB.Candidate(r.Context(), tenant, id)
	switch {
	case err == nil:
		emails = c.Email
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	for cursor := int64(0); ; {
		page, next, err := r.DB.ListExports(r.Context(), store.ExportFilter{Tenant: tenant, Candidate: id, Cursor: cursor,
			Limit: store.MaxPage})
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if err := r.DB.LoadBody(r.Context(), e); err != nil {
				if r.Context().Err() != nil {
					return nil, err
				}
				continue // it is erased, or can't be read
			}
			if c, _, err := hropen.Read(r.Gateway.Config.Names, e.Body); err == nil {
				emails = append(emails, c.Email...)
			}
		}
		if cursor = next; cursor == 0 {
			slices.Sort(emails)
			return slices.Compact(emails), nil
		}
	}
}

// submissionsOf lists the submissions of applicants with one of these e-mail addresses that were not erased, each once.
func submissionsOf(r *rest.Request, tenant string, emails []string) (all []*model.Submission, err error) {
	known := map[string]bool{}
	for _, email := range emails {
		for f := (store.SubmissionFilter{Email: email, Limit: store.MaxPage}); email != ""; {
			page, err := r.DB.ListSubmissions(r.Context(), tenant, f)
			if err != nil {
				return nil, err
			}
			for _, s := range page {
				if !known[s.ID] {
					known[s.ID], all = true, append(all, s)
				}
			}
			if len(page) < store.MaxPage {
				break
			}
			f.Before = page[len(page)-1].Key
		}
	}
	return all, nil
}

// receiptWriter writes what was erased and what remains into a receipt.
type receiptWriter struct {
	r       *rest.Request
	receipt *api.ErasureReceipt
	all     retention.ErasedPerson
}

func (w *receiptWriter) add(p *retention.ErasedPerson) {
	w.receipt.ErasedAt = p.At
	w.receipt.List.Entries = append(w.receipt.List.Entries, p.Entry)
	c, all := &p.Candidates, &w.all
	all.Exports, all.Documents = append(all.Exports, p.Exports...), append(all.Documents, p.Documents...)
	all.Deliveries, all.Uncertain = append(all.Deliveries, p.Deliveries...), append(all.Uncertain, p.Uncertain...)
	all.Submitted = append(all.Submitted, p.Submitted...)
	all.Audit, all.Files, all.Left = all.Audit+p.Audit, all.Files+p.Files, append(all.Left, p.Left...)
	all.Candidates.Applications = append(all.Candidates.Applications, c.Applications...)
	all.Candidates.Documents = append(all.Candidates.Documents, c.Documents...)
	all.Candidates.Answered += c.Answered
	all.Candidates.Compliance += c.Compliance
	all.Candidates.Transitions += c.Transitions
	if c.Candidate {
		w.erased("candidates", 1)
	}
}

// erased writes that something was erased, if it was.
func (w *receiptWriter) erased(where string, n int64, ids ...string) {
	if n > 0 {
		w.receipt.Erased = append(w.receipt.Erased, api.Erased{Where: where, Count: n, IDs: ids})
	}
}

func (w *receiptWriter) remains(one api.Remains) { w.receipt.Remains = append(w.receipt.Remains, one) }

const (
	withoutEnd    = "you delete it"
	notErasedHere = "the gateway can't erase it"
)

// end completes the receipt. unread are exports whose body can't be read, when an address was looked for.
func (w *receiptWriter) end(unread []*model.Export) error {
	c := &w.all.Candidates
	var applications, exports, submitted []string
	var known []api.RemainingID
	for _, a := range c.Applications {
		applications = append(applications, a.ID)
	}
	for _, e := range w.all.Exports {
		exports = append(exports, e.Key)
		known = append(known, api.RemainingID{ID: e.Key, SHA256: hex.EncodeToString(e.SHA256[:])})
	}
	w.erased("job_applications", int64(len(applications)), applications...)
	w.erased("application_answers", c.Answered)
	w.erased("compliance_answers", c.Compliance)
	w.erased("transitions", c.Transitions)
	w.erased("application_documents", int64(len(c.Documents)))
	w.erased("exports: bodies as they came and went out, headers, the candidate's id, receivers' answers", int64(len(exports)),
		exports...)
	w.erased("documents of exports: addresses, names, hashes", int64(len(w.all.Documents)))
	delivered := int64(0)
	for _, s := range w.all.Submitted {
		submitted = append(submitted, s.ID)
		if s.State == model.SubmissionDelivered || s.State == model.SubmissionResolved || s.Uncertain {
			delivered++
		}
	}
	w.erased("submissions: answers", int64(len(submitted)), submitted...)
	w.erased("files of documents", int64(w.all.Files))
	w.erased("audit: the ids of candidate and job applications", w.all.Audit)
	rows := "you delete them, as retention has no end for rows"
	if kept := w.r.Gateway.Config.RetentionRows; kept > 0 {
		rows = fmt.Sprintf("%d days after the last that was done with them, and those that need an operator longer", kept/(24*time.Hour))
	}
	if len(known) > 0 {
		w.remains(api.Remains{Where: "exports, deliveries, attempts", What: known, Until: rows,
			Why: "proof of when an export came and where it went; a repeat is recognised by its UUID and the hash of its body"})
		w.remains(api.Remains{Where: "workflows of Temporal and logs", What: ids(exports), Until: "their own retention ends",
			Why: "they have the UUIDs of exports, and no content; " + notErasedHere})
	}
	w.receivers(w.all.Deliveries, "it received these deliveries, and was not told: ask it to erase the person")
	w.receivers(w.all.Uncertain, "it may have these deliveries, as they were attempted or an attempt was under way, and was not told: "+
		"ask it to erase the person")
	if delivered > 0 {
		w.remains(api.Remains{Where: "the service that applications are relayed to", Count: delivered, Until: "it erases it",
			Why: "it has or may have these applications, and was not told: ask it to erase the person"})
	}
	if len(submitted) > 0 {
		w.remains(api.Remains{Where: "submissions, workflows of Temporal, logs", What: ids(submitted), Until: rows,
			Why: "proof of when an application came and what became of it; ids alone"})
	}
	if len(w.all.Left) > 0 {
		w.remains(api.Remains{Where: "files of documents", What: ids(w.all.Left), Until: "the next sweep, or the end of what refers to them",
			Why: "something else refers to the same file, or it could not be removed yet"})
	}
	if len(unread) > 0 {
		var keys []string
		for _, e := range unread {
			keys = append(keys, e.Key)
		}
		w.remains(api.Remains{Where: "exports that can't be read", What: ids(keys), Until: withoutEnd,
			Why: "nobody can tell whether they have the e-mail address: erase those that do by their UUID"})
	}
	n, err := w.r.DB.CountMade(w.r.Context(), made(w.receipt, slices.Concat(applications, submitted), exports))
	if err != nil {
		return err
	}
	if n > 0 {
		w.remains(api.Remains{Where: "idempotency", Count: n, Until: "a day after the request, 15 days after an application",
			Why: "so that a repeated request does not make it again; ids alone"})
	}
	if len(applications) > 0 {
		w.remains(api.Remains{Where: "lists of job applications", What: ids(applications), Until: "90 days after this",
			Why: "whoever reads what changed learns that they were erased; ids alone"})
	}
	w.remains(api.Remains{Where: "audit and logs", Until: rows,
		Why: "who did what; the audit has this erasure by the number of its receipt, logs have ids of before"})
	w.remains(api.Remains{Where: "the list of erasures", Count: int64(len(w.receipt.List.Entries)), Until: withoutEnd,
		Why: "a keyed hash, so that a gateway with a restored backup erases again"})
	w.remains(api.Remains{Where: "backups from before " + w.receipt.ErasedAt.Format(time.RFC3339), Until: withoutEnd,
		Why: notErasedHere + " in them; one that is put back is erased again before the gateway serves"})
	return nil
}

// receivers writes how many deliveries remain with each receiver, and why.
func (w *receiptWriter) receivers(deliveries []*model.Delivery, why string) {
	counts := map[string]int64{}
	for _, d := range deliveries {
		counts[d.Integration]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		w.remains(api.Remains{Where: "the system behind integration " + name, Count: counts[name], Until: "it erases it", Why: why})
	}
}

func ids(all []string) []api.RemainingID {
	what := make([]api.RemainingID, len(all))
	for n, id := range all {
		what[n].ID = id
	}
	return what
}

// made are the locations below which requests made what was erased.
func made(receipt *api.ErasureReceipt, applications, exports []string) (all []string) {
	all = slices.Clone(applications) // at the Apply API, whose location is the id alone
	for _, of := range []struct {
		list string
		ids  []string
	}{{"candidates", receipt.Candidates}, {"job-applications", applications}, {"exports", exports}} {
		for _, id := range of.ids {
			all = append(all, rest.PathOf("/v1/tenants", receipt.Tenant, of.list, id))
		}
	}
	return all
}
