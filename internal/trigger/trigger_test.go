package trigger_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

func TestExportIsKeptAsItGoesOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made, err := b.export(trigger.Request{Candidate: "c-1/é", Integrations: []string{"hris"}})
	require.NoError(t, err)
	e, err := b.Store.ExportByKey(t.Context(), "initech", made.Key)
	require.NoError(t, err)
	require.Equal(t, model.Triggered, e.Origin)
	require.Equal(t, []string{"hris"}, e.Integrations)
	require.Equal(t, "c-1/é", e.CandidateID)
	require.Equal(t, noon.Add(2*time.Hour+30*time.Minute), e.DocumentsTill)
	require.Equal(t, e.DocumentsTill, e.DeliverTill)
	require.Equal(t, 1, e.Attachments)
	require.NoError(t, b.Store.LoadBody(t.Context(), e))
	require.Equal(t, "https://recruiting.example.com/c/c-1%2F%C3%A9?tab=1", string(e.Link))
	require.Equal(t, "NURSE-1", string(e.ExportContext))
	require.True(t, json.Valid(e.Body))
	require.True(t, bytes.HasPrefix(e.Body, []byte(`{"candidate":{`)))

	docs, err := b.Store.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, docs, 1)
	require.Equal(t, model.Fetched, docs[0].State, "it would be fetched from ourselves")
	require.Equal(t, "blob-1", docs[0].Blob)
	urls := b.urls(e)
	require.Len(t, urls, 1)
	require.Regexp(t, `^https://gate\.example\.com/documents/[A-Za-z0-9_-]{43}$`, urls[0])
}

func TestEachExportIsAnEventOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one, err := b.export(trigger.Request{Candidate: "c-1/é", Integrations: []string{"hris"}})
	require.NoError(t, err)
	b.now = noon.Add(time.Hour)
	other, err := b.export(trigger.Request{Candidate: "c-1/é", Integrations: []string{"hris"}})
	require.NoError(t, err)
	require.NotEqual(t, one.Key, other.Key)
	require.NotEqual(t, b.urls(one), b.urls(other), "one event's document URLs were given out with another's end")
	require.Equal(t, time.Hour, other.DocumentsTill.Sub(one.DocumentsTill))
}

func TestContextIsTheJobOfTheApplicationItIsAbout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.now = noon.Add(time.Minute)
	b.write(func(tx *store.Tx) error {
		err := tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "initech"}, ID: "c-2"}, noon)
		if err != nil {
			return err
		}
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: "a-2",
			Candidate: "c-1/é",
			Job:       "COOK-1"}, b.now)
	})
	refused := new(trigger.RefusedError)
	_, err := b.export(trigger.Request{Candidate: "c-1/é", Integrations: []string{"hris"}})
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.Ambiguous)
	e, err := b.export(trigger.Request{Candidate: "c-1/é", Application: "a-2", Integrations: []string{"hris"}})
	require.NoError(t, err)
	require.Equal(t, "COOK-1", string(e.ExportContext))
	e, err = b.export(trigger.Request{Candidate: "c-2", Integrations: []string{"hris"}})
	require.NoError(t, err)
	require.Nil(t, e.ExportContext, "there is no job, so there must be no header")
	for _, r := range []trigger.Request{{Candidate: "c-3"}, {Candidate: "c-1/é", Application: "a-9"},
		{Candidate: "c-2", Application: "a-1"}} {
		_, err = b.export(r)
		require.ErrorIs(t, err, trigger.ErrNotFound)
	}
}

func TestTheLinkNamesTheTenant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Config.CandidateURL = "https://gate.example.com/console/candidates/{tenant}/{candidate}"
	e, err := b.export(trigger.Request{Candidate: "c-1/é", Integrations: []string{"hris"}})
	require.NoError(t, err)
	require.Equal(t, "https://gate.example.com/console/candidates/initech/c-1%2F%C3%A9", string(e.Link))
}

// A receiver of ours takes 1 KiB. An id has 255 characters at most, a job board code too, which goes out as it is.
func TestHeadersAreNoLongerThanAReceiverTakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fits := webhook.HeaderBound - len(b.Config.CandidateURL) + len("{candidate}")
	short, long, code := strings.Repeat("é", fits/6), strings.Repeat("é", fits/6+1), strings.Repeat("🦀", 255)
	b.write(func(tx *store.Tx) error {
		for _, id := range []string{short, long} {
			if err := tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "initech"}, ID: id}, noon); err != nil {
				return err
			}
		}
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: "a-2", Candidate: short,
			Job: code}, noon)
	})
	e, err := b.export(trigger.Request{Candidate: short, Integrations: []string{"hris"}})
	require.NoError(t, err)
	require.LessOrEqual(t, len(e.Link), webhook.HeaderBound)
	require.Equal(t, code, string(e.ExportContext))
	require.LessOrEqual(t, len(e.ExportContext), webhook.HeaderBound)
	refused := new(trigger.RefusedError)
	_, err = b.export(trigger.Request{Candidate: long, Integrations: []string{"hris"}})
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "shorten candidate_url")
}

// An export holds up to a thousand job applications: beyond, the one that it is about and the newest.
func TestExportOfAThousandApplicationsAndTheOneItIsAbout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	about := trigger.Request{Candidate: "c-1/é", Application: "a-1", Integrations: []string{"hris"}}
	b.write(func(tx *store.Tx) error {
		for n := 2; n <= 1000; n++ {
			a := &model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: fmt.Sprint("a-", n), Candidate: about.Candidate,
				Job: "NURSE-1"}
			if err := tx.UpsertJobApplication(a, noon.Add(time.Duration(n)*time.Second)); err != nil {
				return err
			}
		}
		return nil
	})
	e, err := b.export(about)
	require.NoError(t, err)
	require.Contains(t, string(e.Body), `"a-2"`)
	require.Contains(t, string(e.Body), `"a-1000"`)
	require.Zero(t, e.LeftOut)
	b.now = noon.Add(time.Hour)
	b.apply("a-1001")
	b.apply("a-1002")
	e, err = b.export(about)
	require.NoError(t, err)
	require.Equal(t, 1, e.LeftOut)
	for id, there := range map[string]bool{"a-1": true, "a-2": false, "a-3": true, "a-1001": true, "a-1002": true} {
		require.Equal(t, there, strings.Contains(string(e.Body), `"`+id+`"`), id)
	}
}

// Beyond 4 MiB the body holds the job application that it is about and the newest, the audit says that, and only the
// documents of those are offered.
func TestExportLeavesOutWhatItHasNoRoomFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	levels := make([]string, 100)
	for n := range levels {
		levels[n] = strings.Repeat("x", 4000)
	}
	large := func(n int) string { return fmt.Sprint("large-", n) }
	b.write(func(tx *store.Tx) error {
		for n := range 12 { // 400 kB each
			b.now = noon.Add(time.Duration(n+1) * time.Second)
			a := &model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: large(n), Candidate: "c-1/é", Job: "NURSE-1",
				Education: []model.Education{{Levels: levels}}}
			if err := tx.UpsertJobApplication(a, b.now); err != nil {
				return err
			}
			if _, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: int64(n + 2), Tenant: "initech",
				Application: large(n), ID: fmt.Sprint("doc-of-", n), MediaType: "application/pdf", Blob: "blob", SHA256: []byte{7},
				Size: 3, CreatedAt: b.now}); err != nil {
				return err
			}
		}
		return nil
	})
	in, err := b.enter("hired", "hris")
	require.NoError(t, err)
	e := in.Export
	require.LessOrEqual(t, len(e.Body), 4<<20)
	require.Equal(t, 2, e.LeftOut)
	require.Len(t, b.urls(e), 11)
	for id, there := range map[string]bool{"a-1": true, large(0): false, large(1): false, large(2): true, large(11): true,
		"doc-of-1": false, "doc-of-2": true} {
		require.Equal(t, there, strings.Contains(string(e.Body), `"`+id+`"`), id)
	}
	require.Less(t, strings.Index(string(e.Body), `"a-1"`), strings.Index(string(e.Body), large(2)), "the oldest comes first")
	entries, _, err := b.Store.ListAudit(t.Context(), store.AuditFilter{Tenant: "initech"})
	require.NoError(t, err)
	require.Contains(t, entries[0].Detail, "left out 2 of the candidate's job applications")
}

func TestEnteringAStepWithAHelperExportsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in, err := b.enter("interview", "hris")
	require.NoError(t, err)
	require.Nil(t, in.Export, "a step without a helper exported")
	require.Empty(t, in.Transition.Export)

	in, err = b.enter("hired", "archive", "hris")
	require.NoError(t, err)
	require.Equal(t, []string{"archive", "hris"}, in.Export.Integrations)
	require.Equal(t, in.Export.Key, in.Transition.Export)
	require.Contains(t, string(in.Export.Body),
		`"candidateStatus":{"name":"Offer accepted","category":"Hired","transitionDateTime":"2026-11-20 12:00:00"}`,
		"the export was built before the step was entered")
	_, err = b.enter("hired", "hris")
	refused := new(trigger.RefusedError)
	require.ErrorAs(t, err, &refused)

	_, err = b.enter("interview", "hris")
	require.NoError(t, err)
	again, err := b.enter("hired", "hris")
	require.NoError(t, err)
	require.NotEqual(t, in.Export.Key, again.Export.Key)

	history, _, err := b.Store.ListTransitions(t.Context(), "initech", "a-1", 0, 10)
	require.NoError(t, err)
	require.Len(t, history, 4)
	all, _, err := b.Store.ListExports(t.Context(), store.ExportFilter{Tenant: "initech"})
	require.NoError(t, err)
	require.Len(t, all, 2)
	a, err := b.Store.JobApplication(t.Context(), "initech", "a-1")
	require.NoError(t, err)
	require.Equal(t, "hired", a.Status.Step)

	// The audit has who had each of them exported, and nothing of the steps that export nobody.
	entries, _, err := b.Store.ListAudit(t.Context(), store.AuditFilter{})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for n, e := range []*model.Export{again.Export, in.Export} {
		require.Equal(t, model.AuditEntry{ID: entries[n].ID, At: entries[n].At, Author: ada, Action: "export",
			Tenant: "initech", Object: "exports/" + e.Key}, entries[n])
	}
}

func TestHelperExportsToThoseItNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in, err := b.enter("archive", "archive", "hris")
	require.NoError(t, err)
	require.Equal(t, []string{"archive"}, in.Export.Integrations)
	require.Empty(t, in.Export.Fault)
}

// Helpers that name an integration twice were taken once.
func TestAnIntegrationThatIsNamedTwiceIsExportedToOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(func(tx *store.Tx) error {
		s, _, err := tx.Step("initech", "archive")
		if err != nil {
			return err
		}
		s.Helper.Integrations = []string{"hris", "archive", "hris"}
		return tx.UpsertStep(s, noon)
	})
	in, err := b.enter("archive", "archive", "crm", "hris")
	require.NoError(t, err)
	require.Equal(t, []string{"archive", "hris"}, in.Export.Integrations)
	kept, err := b.Store.Export(t.Context(), in.Export.ID)
	require.NoError(t, err)
	require.Equal(t, in.Export.Integrations, kept.Integrations)
}

func TestHelperOfATenantWithoutIntegrationsLeavesAFault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in, err := b.enter("hired")
	require.NoError(t, err, "the transition must not suffer for it")
	e, err := b.Store.ExportByKey(t.Context(), "initech", in.Transition.Export)
	require.NoError(t, err)
	require.Contains(t, e.Fault, "the tenant had no integration")
	require.Equal(t, e.Fault, in.Export.Fault, "it would be offered to the dispatcher")
	require.Empty(t, e.Integrations)
	n, _, err := b.Store.Backlog(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "it would be dispatched")
}

// What a helper names and is gone has a delivery of its own, which then says so: alone, and beside one that is there.
func TestHelperExportsToWhatIsGoneAsWell(t *testing.T) {
	t.Parallel()
	for _, named := range [][]string{{"archive"}, {"archive", "hris"}} {
		b := setup(t)
		b.write(func(tx *store.Tx) error {
			s, _, err := tx.Step("initech", "archive")
			if err != nil {
				return err
			}
			s.Helper.Integrations = named
			return tx.UpsertStep(s, noon)
		})
		in, err := b.enter("archive", "hris")
		require.NoError(t, err)
		require.Equal(t, named, in.Export.Integrations)
		require.Empty(t, in.Export.Fault)
		waiting, err := b.Store.CountUndelivered(t.Context(), noon)
		require.NoError(t, err)
		require.EqualValues(t, 1, waiting[model.Place{Tenant: "initech", Integration: "archive"}].Count)
	}
}

func TestNothingIsLeftOfATransitionThatFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(func(tx *store.Tx) error {
		c, _, err := tx.Candidate("initech", "c-1/é")
		if err != nil {
			return err
		}
		return tx.DeleteCandidate(c)
	})
	_, err := b.enter("hired", "hris")
	require.ErrorIs(t, err, trigger.ErrNotFound)
	a, err := b.Store.JobApplication(t.Context(), "initech", "a-1")
	require.NoError(t, err)
	require.Empty(t, a.Status.Step, "the application moved, and its helper did not export")
	history, _, err := b.Store.ListTransitions(t.Context(), "initech", "a-1", 0, 10)
	require.NoError(t, err)
	require.Empty(t, history)
}

// The job applications come in the order in which they were made, whatever their ids, and a document that the scanner
// refused does not leave.
func TestWhatAnExportHolds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.now = noon.Add(time.Hour)
	b.apply("a-0")
	b.write(func(tx *store.Tx) error {
		_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 2, Tenant: "initech", Application: "a-1",
			ID: "doc-2", Descriptions: []string{},
			Blob: "blob-2", SHA256: []byte{8}, CreatedAt: noon, Scan: model.Refused})
		return err
	})
	e, err := b.export(trigger.Request{Candidate: "c-1/é", Application: "a-1", Integrations: []string{"hris"}})
	require.NoError(t, err)
	require.Equal(t, 1, e.Attachments)
	require.Len(t, b.urls(e), 1)
	body := string(e.Body)
	require.NotContains(t, body, "doc-2")
	require.Less(t, strings.Index(body, `"a-1"`), strings.Index(body, `"a-0"`))
	require.Contains(t, body, `"a-0"`)
}

// What we make we would take: here from another service.
func TestWhatBreaksTheSchemaDoesNotLeave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var err error
	b.Validator, err = schemas.New("Other")
	require.NoError(t, err)
	_, err = b.export(trigger.Request{Candidate: "c-1/é", Integrations: []string{"hris"}})
	require.ErrorContains(t, err, "it breaks the schema at /candidate")
	require.Empty(t, b.kept())
}

// More than a receiver of ours takes is refused with a sentence, and nothing is kept of it.
func TestMoreThanAnExportMayHold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(func(tx *store.Tx) error {
		return tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "initech"}, ID: "c-2",
			CitizenShip: make([]string, 10_001)}, noon)
	})
	_, err := b.export(trigger.Request{Candidate: "c-2", Integrations: []string{"hris"}})
	refused := new(trigger.RefusedError)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Reason, "more about the candidate than an export may hold")
	require.False(t, refused.Ambiguous)
	require.Empty(t, b.kept())
}

// A candidate with several job applications is exported for the one that entered the step.
func TestHelperExportsForTheApplicationThatEntered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(func(tx *store.Tx) error {
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: "a-2",
			Candidate: "c-1/é",
			Job:       "COOK-1"}, noon)
	})
	in, err := b.enter("hired", "hris")
	require.NoError(t, err)
	require.Equal(t, "NURSE-1", string(in.Export.ExportContext))
}

func TestEnteringWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.enter("nowhere", "hris")
	require.ErrorIs(t, err, trigger.ErrNotFound)
	err = b.Store.Write(t.Context(), func(tx *store.Tx) error {
		_, err := b.EnterStep(tx, "initech", "a-9", "hired", ada)
		return err
	})
	require.ErrorIs(t, err, trigger.ErrNotFound)
}
