package trigger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/trigger"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 123456000, time.UTC)

// ada is who enters steps.
var ada = model.Author{Actor: "console:7", Name: "Ada Lovelace", Email: "ada@example.com"}

// compiled is the validator, which the tests share.
var compiled = sync.OnceValues(func() (*schemas.Validator, error) { return schemas.New("Service") })

// fixture is a trigger over a store with the tenant initech: the candidate c-1 with a job application for NURSE-1, which
// has a document, the steps interview, hired (with a helper for all) and archive (with a helper for the integration
// archive).
type fixture struct {
	*trigger.Trigger
	Store *store.DB
	t     *testing.T
	now   time.Time
}

func setup(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	names, err := webhook.NamesFor("Service")
	require.NoError(t, err)
	validator, err := compiled()
	require.NoError(t, err)
	b := &fixture{Store: db, t: t, now: noon}
	b.Trigger = &trigger.Trigger{Validator: validator, Now: func() time.Time { return b.now },
		Config: &config.Config{
			Names: names, PublicURL: "https://gate.example.com",
			CandidateURL: "https://recruiting.example.com/c/{candidate}?tab=1"}}
	row := model.Row{Tenant: "initech"}
	b.write(func(tx *store.Tx) error {
		if err := tx.UpsertCandidate(&model.Candidate{Row: row, ID: "c-1/é", Name: model.Name{Given: "Zoë"}},
			noon); err != nil {
			return err
		}
		if err := tx.UpsertJob(&model.Job{Row: row, BoardCode: "NURSE-1", ID: "job-1", Title: "Nurse"}, noon); err != nil {
			return err
		}
		for _, s := range []*model.Step{
			{Row: row, ID: "interview", Name: "Interview"},
			{Row: row, ID: "hired", Name: "Offer accepted", Category: "Hired", Helper: &model.Helper{}},
			{Row: row, ID: "archive", Name: "Archived", Helper: &model.Helper{Integrations: []string{"archive"}}},
		} {
			if err := tx.UpsertStep(s, noon); err != nil {
				return err
			}
		}
		_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 1, Tenant: "initech", Application: "a-1",
			ID: "doc-1", Descriptions: []string{"Resume"},
			FileName: "r.pdf", MediaType: "application/pdf", Blob: "blob-1", SHA256: []byte{7}, Size: 3, CreatedAt: noon})
		return err
	})
	b.apply("a-1")
	return b
}

func (b *fixture) write(fn func(*store.Tx) error) {
	b.t.Helper()
	require.NoError(b.t, b.Store.Write(b.t.Context(), fn))
}

func (b *fixture) apply(id string) {
	b.t.Helper()
	b.write(func(tx *store.Tx) error {
		return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: id, Candidate: "c-1/é",
			Job: "NURSE-1", LanguageCode: "en-US"}, b.now)
	})
}

func (b *fixture) export(r trigger.Request) (e *model.Export, err error) {
	r.Tenant = "initech"
	err = b.Store.Write(b.t.Context(), func(tx *store.Tx) (err error) {
		e, err = b.Export(tx, r)
		return err
	})
	return e, err
}

// enter moves the job application into a step, while the tenant has some integrations.
func (b *fixture) enter(step string, integrations ...string) (in *trigger.Entry, err error) {
	tenant := &model.Tenant{Name: "initech"}
	for _, name := range integrations {
		tenant.Integrations = append(tenant.Integrations, model.Integration{Tenant: "initech", Name: name})
	}
	b.Config.Tenants = map[string]*model.Tenant{"initech": tenant}
	err = b.Store.Write(b.t.Context(), func(tx *store.Tx) (err error) {
		in, err = b.EnterStep(tx, "initech", "a-1", step, ada)
		return err
	})
	return in, err
}

// kept are the exports that came to be.
func (b *fixture) kept() []*model.Export {
	b.t.Helper()
	all, _, err := b.Store.ListExports(b.t.Context(), store.ExportFilter{Tenant: "initech"})
	require.NoError(b.t, err)
	return all
}

// urls are the attachment URLs of an export, as it is kept.
func (b *fixture) urls(e *model.Export) (urls []string) {
	b.t.Helper()
	require.NoError(b.t, b.Store.LoadBody(b.t.Context(), e))
	doc, err := schemas.Guard(e.Body)
	require.NoError(b.t, err)
	for _, a := range doc.Attachments {
		urls = append(urls, a.URL)
	}
	return urls
}
