package manageapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// What one node deletes and another adds to at the same moment is not left in pieces.
func TestDeletingBesideAnotherNode(t *testing.T) {
	t.Parallel()
	const job, candidate, documents = "/v1/tenants/acme/jobs/NURSE-1", "/v1/tenants/acme/candidates/c-1",
		application + "/documents"
	row := model.Row{Tenant: "acme"}
	apply := func(tx *store.Tx) error {
		return tx.UpsertJobApplication(&model.JobApplication{Row: row, ID: "a-1", Candidate: "c-1", Job: "NURSE-1"},
			gatewaytest.Noon)
	}
	for name, test := range map[string]struct {
		applied bool // there is a job application already
		// The other node's transaction, before and after the request.
		before, after      func(*store.Tx) error
		method, path, body string
		want               int
	}{
		"a job for which somebody applies": {
			before: func(tx *store.Tx) error { _, _, err := tx.LockJob("acme", "NURSE-1"); return err }, after: apply,
			method: http.MethodDelete, path: job, want: http.StatusConflict,
		},
		"a candidate who applies": {
			before: func(tx *store.Tx) error { _, _, err := tx.LockCandidate("acme", "c-1"); return err }, after: apply,
			method: http.MethodDelete, path: candidate, want: http.StatusConflict,
		},
		"a job application that gets a document": {
			applied: true,
			before:  func(tx *store.Tx) error { _, _, err := tx.LockJobApplication("acme", "a-1"); return err },
			after: func(tx *store.Tx) error {
				_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 1, Tenant: "acme", Application: "a-1",
					ID: "d-1", SHA256: []byte{1}, CreatedAt: gatewaytest.Noon})
				return err
			},
			method: http.MethodDelete, path: application, want: http.StatusNoContent,
		},
		"applying for a job that goes": {
			before: func(tx *store.Tx) error {
				j, _, err := tx.Job("acme", "NURSE-1")
				if err != nil {
					return err
				}
				return tx.DeleteJob(j)
			},
			method: http.MethodPut, path: application, body: `{"candidate":"c-1","jobBoardCode":"NURSE-1"}`,
			want: http.StatusUnprocessableEntity,
		},
		"applying of a candidate who goes": {
			before: func(tx *store.Tx) error {
				c, _, err := tx.Candidate("acme", "c-1")
				if err != nil {
					return err
				}
				return tx.DeleteCandidate(c)
			},
			method: http.MethodPut, path: application, body: `{"candidate":"c-1"}`, want: http.StatusUnprocessableEntity,
		},
		"a document of a job application that goes": {
			applied: true,
			before: func(tx *store.Tx) error {
				a, _, err := tx.JobApplication("acme", "a-1")
				if err != nil {
					return err
				}
				return tx.DeleteJobApplication(a)
			},
			method: http.MethodPost, path: documents + "?fileName=cv.txt", body: "the content", want: http.StatusNotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := storetest.Postgres(t)
			b := &fixture{Fixture: gatewaytest.NewOn(t, address), t: t}
			b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
			b.must(http.StatusCreated, http.MethodPut, candidate, `{}`)
			b.must(http.StatusCreated, http.MethodPut, job, `{"id":"job-1"}`)
			if test.applied {
				b.Write(t, apply)
			}
			var answer reply
			gatewaytest.Beside(t, address, func(tx *store.Tx, meanwhile func() error) error {
				if err := test.before(tx); err != nil {
					return err
				}
				if err := meanwhile(); err != nil || test.after == nil {
					return err
				}
				return test.after(tx)
			}, func() { answer = b.send(test.method, test.path, test.body) })
			require.Equal(t, test.want, answer.status, answer.body)
			left, _, err := b.Runtime.Store().ListApplicationDocuments(t.Context(), "acme", "a-1", 0, 10)
			require.NoError(t, err)
			require.Empty(t, left, "a document of no job application is there")
		})
	}
}
