package manageapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// erased asks for the erasure of a person, and returns the receipt, whose signature is right.
func (b *fixture) erased(body string) (receipt api.ErasureReceipt) {
	b.t.Helper()
	var signed struct {
		Receipt        json.RawMessage
		Key, Signature string
	}
	require.NoError(b.t, json.Unmarshal([]byte(b.must(http.StatusOK, http.MethodPost, "/v1/tenants/acme/people/erase", body).body), &signed))
	var key api.ErasureKey
	require.NoError(b.t, json.Unmarshal([]byte(b.must(http.StatusOK, http.MethodGet, "/v1/erasure-key", "").body), &key))
	require.Equal(b.t, key.Key, signed.Key)
	require.NoError(b.t, erasure.Verify(signed.Receipt, signed.Signature, key.Key))
	require.Error(b.t, erasure.Verify([]byte(strings.Replace(string(signed.Receipt), "acme", "acne", 1)), signed.Signature, key.Key))
	require.NoError(b.t, json.Unmarshal(signed.Receipt, &receipt))
	return receipt
}

// TestErasureOfAPerson erases a candidate of the service role with an application, and the exports that came about them;
// others stay. The receipt says what was there and what remains.
func TestErasureOfAPerson(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/v1/tenants/acme/people/erase"
	require.Contains(t, b.must(http.StatusConflict, http.MethodPost, path, `{"candidate":"c-1"}`).body, "add the option erasures")
	list, err := erasure.Open(filepath.Join(b.Folder, "erasures"))
	require.NoError(t, err)
	b.Runtime.Retention.List = list
	for _, wrong := range []string{`{}`, `{"candidates":[]}`, `{"candidates":[""]}`, `{"candidates":["c-1"],"candidate":"c-2"}`,
		`{"candidates":["c-1"],"email":"zoe@example.com"}`, `{"candidates":["` + strings.Repeat(`c","`, 100) + `c"]}`} {
		b.must(http.StatusUnprocessableEntity, http.MethodPost, path, wrong)
	}
	b.must(http.StatusNotFound, http.MethodPost, path, `{"email":"nobody@example.com"}`)

	body := func(id, email string) func(*model.Export) {
		return func(e *model.Export) {
			e.CandidateID = id
			e.Body = []byte(`{"candidate":{"person":{"id":{"value":"` + id + `"},"communication":{"email":[{"address":"first@example.com"},{"address":"` +
				email + `"}]}},"profiles":[]}}`)
		}
	}
	e := b.export("acme", "u-zoe", body("c-1", "Zoe@example.com"))
	b.delivery(e, "hris", model.Delivered, 200)
	b.export("acme", "u-alone", body("", "zoe@example.com"))
	jo := b.export("acme", "u-jo", body("c-jo", "jo@example.com"))
	for id, email := range map[string]string{"c-1": "zoe@example.com", "c-jo": "jo@example.com"} {
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/"+id, `{"name":{"given":"Z"},"email":["`+email+`"]}`)
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/job-applications/a-"+id, `{"candidate":"`+id+`"}`)
		b.must(http.StatusCreated, http.MethodPost, "/v1/tenants/acme/job-applications/a-"+id+"/documents?id=resume", "a resume of "+id)
	}

	b.Write(t, func(tx *store.Tx) error {
		for n, email := range []string{"zoe@example.com", "first@example.com", "jo@example.com"} {
			s := &model.Submission{Key: int64(n) + 1, Tenant: "acme", ID: fmt.Sprintf("s-%d", n), Job: "NURSE-1",
				State: model.SubmissionDelivered, ReceivedAt: b.Clock.Now(), TryUntil: b.Clock.Now()}
			c := &model.SubmissionContent{Answers: []model.SubmissionAnswer{{Question: "email", Value: email}}}
			if err := tx.InsertSubmission(s, c, email, store.SubmissionLease{}); err != nil {
				return err
			}
		}
		return nil
	})
	submitted := func(n int) error {
		s, err := b.Runtime.Store().Submission(t.Context(), "acme", fmt.Sprintf("s-%d", n))
		require.NoError(t, err)
		_, err = b.Runtime.Store().SubmissionContent(t.Context(), s)
		return err
	}

	r := b.erased(`{"email":"ZOE@example.com"}`)
	require.Equal(t, []string{"c-1"}, r.Candidates)
	erased := map[string]int64{}
	for _, one := range r.Erased {
		where, _, _ := strings.Cut(one.Where, ":")
		erased[where] = one.Count
	}
	require.EqualValues(t, 1, erased["candidates"])
	require.EqualValues(t, 1, erased["job_applications"])
	require.EqualValues(t, 1, erased["application_documents"])
	require.EqualValues(t, 2, erased["exports"])
	require.NotZero(t, erased["files of documents"])
	require.EqualValues(t, 1, erased["submissions"])
	require.ErrorIs(t, submitted(0), store.ErrNotFound)
	require.NoError(t, submitted(1), "only its address was asked for")
	require.NoError(t, submitted(2))
	remains := map[string]api.Remains{}
	for _, one := range r.Remains {
		remains[one.Where] = one
		require.NotEmpty(t, one.Why)
		require.NotEmpty(t, one.Until)
	}
	require.EqualValues(t, 1, remains["the system behind integration hris"].Count)
	require.Len(t, remains["exports, deliveries, attempts"].What, 2)
	require.Len(t, r.List.Entries, 3)
	require.EqualValues(t, 1, remains["the service that applications are relayed to"].Count)

	b.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/acme/candidates/c-1", "")
	b.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/acme/job-applications/a-c-1", "")
	b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/candidates/c-jo", "")
	b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/job-applications/a-c-jo", "")
	for key, gone := range map[string]bool{"u-zoe": true, "u-alone": true, "u-jo": false} {
		require.Equal(t, gone, strings.Contains(b.must(http.StatusOK, http.MethodGet, "/v1/tenants/acme/exports/"+key, "").body, "erasedAt"), key)
	}
	require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), jo))
	entries, _, err := b.Runtime.Store().ListAudit(t.Context(), store.AuditFilter{Object: "erasures/" + r.ID})
	require.NoError(t, err)
	require.Len(t, entries, 1)

	positions, err := b.Runtime.Store().ErasurePositions(t.Context())
	require.NoError(t, err)
	require.Empty(t, positions, "the fixture did not open it at its start")
	again, err := b.Runtime.Retention.EraseAgain(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, again.Entries)
	require.Zero(t, again.Exports+again.Candidates+again.Submissions, "nothing is left to erase")

	// By the id of a candidate, submissions are found by all their addresses.
	r = b.erased(`{"candidate":"c-jo"}`)
	require.Len(t, r.List.Entries, 3)
	require.ErrorIs(t, submitted(2), store.ErrNotFound)
	require.ErrorIs(t, submitted(1), store.ErrNotFound, "the export had this address, too")
}

// Several candidates are erased with one receipt, and nobody else.
func TestErasureOfSeveral(t *testing.T) {
	t.Parallel()
	b := setup(t)
	list, err := erasure.Open(filepath.Join(b.Folder, "erasures"))
	require.NoError(t, err)
	b.Runtime.Retention.List = list
	for _, id := range []string{"c-1", "c-2", "c-3"} {
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/acme/candidates/"+id, `{"name":{"given":"Zoe"},"email":["zoe@example.com"]}`)
	}
	answer := b.must(http.StatusOK, http.MethodPost, "/v1/tenants/acme/people/erase", `{"candidates":["c-2","c-1"]}`)
	signed := parsed[struct{ Receipt api.ErasureReceipt }](b, answer)
	require.Equal(t, []string{"c-1", "c-2"}, signed.Receipt.Candidates)
	for id, want := range map[string]int{"c-1": http.StatusNotFound, "c-2": http.StatusNotFound, "c-3": http.StatusOK} {
		b.must(want, http.MethodGet, "/v1/tenants/acme/candidates/"+id, "")
	}
}

// The receipt names the integrations that have, or may have, what was erased: also those of which an attempt was under way,
// or was not answered well.
func TestReceiptNamesWhoMayHaveAnExport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	list, err := erasure.Open(filepath.Join(b.Folder, "erasures"))
	require.NoError(t, err)
	b.Runtime.Retention.List = list
	about := func(e *model.Export) { e.CandidateID = "c-1" }
	for n, one := range []struct {
		integration string
		outcome     model.Outcome
		statuses    []int
	}{{"hris", model.Delivered, []int{200}}, {"hris", model.Retrying, []int{503}}, {"hris", model.Pending, nil},
		{"crm", model.Failed, []int{0}}, {"crm", model.Held, nil}} {
		b.delivery(b.export("acme", fmt.Sprint("u-", n), about), one.integration, one.outcome, one.statuses...)
	}
	waits := b.export("acme", "u-quarantined", about, quarantined)
	b.delivery(waits, "crm", model.Pending)

	counts := map[string]int64{}
	for _, one := range b.erased(`{"candidate":"c-1"}`).Remains {
		if name, ok := strings.CutPrefix(one.Where, "the system behind integration "); ok {
			counts[fmt.Sprint(name, " ", strings.Contains(one.Why, "may have"))] = one.Count
		}
	}
	require.Equal(t, map[string]int64{"hris false": 1, "hris true": 2, "crm true": 1}, counts)
}

// The receipt counts an application as one that the service may have, if an attempt of it was under way.
func TestReceiptCountsAnApplicationThatIsBeingRelayed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	list, err := erasure.Open(filepath.Join(b.Folder, "erasures"))
	require.NoError(t, err)
	b.Runtime.Retention.List = list
	b.Write(t, func(tx *store.Tx) error {
		for n, lease := range []store.SubmissionLease{{}, {Owner: "node", Till: b.Clock.Now().Add(time.Minute)}} {
			s := &model.Submission{Key: int64(n) + 1, Tenant: "acme", ID: fmt.Sprintf("s-%d", n), Job: "NURSE-1",
				State: model.SubmissionWaiting, ReceivedAt: b.Clock.Now(), TryUntil: b.Clock.Now()}
			if err := tx.InsertSubmission(s, &model.SubmissionContent{}, "zoe@example.com", lease); err != nil {
				return err
			}
		}
		return nil
	})
	r := b.erased(`{"email":"zoe@example.com"}`)
	service := slices.IndexFunc(r.Remains, func(one api.Remains) bool { return strings.HasPrefix(one.Where, "the service that") })
	require.GreaterOrEqual(t, service, 0)
	require.EqualValues(t, 1, r.Remains[service].Count)
	require.Empty(t, b.erased(`{"candidate":"nobody"}`).Erased)
}
