package manageapi_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// entries are what the audit has, as tenant, action and object, the oldest first.
func (b *fixture) entries(query string) (all [][3]string) {
	b.t.Helper()
	type list struct {
		Items []model.AuditEntry
		Next  *string
	}
	for after := ""; ; {
		l := get[list](b, "/v1/audit?"+query+after)
		for _, e := range l.Items {
			all = append([][3]string{{e.Tenant, e.Action, e.Object}}, all...)
		}
		if l.Next == nil {
			return all
		}
		after = "&cursor=" + *l.Next
	}
}

func TestTheAuditHasWhoDidWhat(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.people()
		keyed := b.keyed()
		k := keyed.as(keyed.key("k-1", "", model.Admin))
		before := len(k.entries("limit=500"))
		k.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{}`)
		k.must(http.StatusUnprocessableEntity, http.MethodPut, "/v1/tenants/initech", `{"invalid":"x"}`)
		k.must(http.StatusCreated, http.MethodPut, acme+"/candidates/c-7", `{}`)
		k.must(http.StatusNoContent, http.MethodDelete, acme+"/candidates/c-7", "")
		k.must(http.StatusCreated, http.MethodPut, acme+"/steps/applied/helper", `{}`)
		key := parsed[made](k, k.must(http.StatusCreated, http.MethodPost, "/v1/api-keys", newKey, "Idempotency-Key", "k"))
		k.must(http.StatusConflict, http.MethodPost, "/v1/api-keys", newKey, "Idempotency-Key", "k")
		k.must(http.StatusOK, http.MethodPost, acme+"/integrations/hris/disable", "")
		k.send(http.MethodPost, acme+"/integrations/hris/enable", "")
		b.delivery(b.export("acme", "u/1"), "hris", model.Failed, 500)
		for range 2 { // the second is told what the first was
			k.must(http.StatusAccepted, http.MethodPost, acme+"/exports/u%2F1/redeliver", "", "Idempotency-Key", "i-1")
		}
		k.must(http.StatusConflict, http.MethodPost, acme+"/exports/u%2F1/release", "")
		k.must(http.StatusConflict, http.MethodPost, acme+"/exports/u%2F1/erase", "")
		b.export("acme", "u-2", quarantined)
		k.must(http.StatusAccepted, http.MethodPost, acme+"/exports/u-2/release", "")
		for range 2 { // the second finds nothing to erase
			k.must(http.StatusOK, http.MethodPost, acme+"/exports/u-2/erase", `{"cancel":true}`)
		}
		e := b.export("acme", "u-3", func(e *model.Export) { e.Attachments = 0 })
		b.delivery(e, "hris", model.Delivered, 200)
		k.must(http.StatusOK, http.MethodPost, acme+"/erasures", `{"candidate":"c-u-3","cancel":true}`)

		want := [][3]string{
			{"initech", "set", "tenants/initech"}, {"acme", "remove", "candidates/c-7"},
			{"acme", "set", "steps/applied/helper"}, {"", "add", "api-keys/" + key.ID},
			{"acme", "disable", "integrations/hris"}, {"acme", "enable", "integrations/hris"},
			{"acme", "redeliver", "exports/u/1"}, {"acme", "release", "exports/u-2"}, {"acme", "erase", "exports/u-2"},
			{"acme", "erase", "exports/u-3"},
		}
		require.Equal(t, want, k.entries("limit=500")[before:])
		require.Equal(t, want, k.entries("limit=3")[before:])
		require.Equal(t, want[8:], k.entries("tenant=acme&action=erase"))
		require.Equal(t, want[7:9], k.entries("object=exports%2Fu-2"))
		require.Empty(t, k.entries("until=2026-01-01T00:00:00Z"))
		all := k.entries("tenant=acme&limit=500")
		require.Equal(t, all, k.entries("tenant=acme&since=2026-01-01T00:00:00Z&limit=500"))

		// Whoever reads the export finds what was done to it, and by whom.
		type detail struct{ Audit []model.AuditEntry }
		for _, one := range get[detail](b, acme+"/exports/u-2").Audit {
			require.Equal(t, "k-1", one.Actor)
		}
		require.Len(t, get[detail](b, acme+"/exports/u-2").Audit, 2)
		require.Equal(t, "admin endpoint", b.actorOf(t, func() {
			b.must(http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+key.ID, "")
		}))

		// A key for one tenant sees what was done to that.
		acmes := keyed.as(keyed.key("k-2", "acme", model.Viewer))
		for _, one := range acmes.entries("limit=500") {
			require.Equal(t, "acme", one[0])
		}
		require.Contains(t, acmes.refused(http.StatusNotFound, http.MethodGet, "/v1/audit?tenant=globex", ""), "no tenant")
	})
}

// A tenant that has the name of another one does not see what was done to that.
func TestTheAuditOfATenantBeginsWithIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func() {
		b.must(http.StatusCreated, http.MethodPut, "/v1/tenants/initech", `{}`)
		b.Clock.Advance(time.Minute)
	}
	put()
	b.must(http.StatusOK, http.MethodDelete, "/v1/tenants/initech", "")
	b.Clock.Advance(time.Minute)
	put()
	keyed := b.keyed()
	k := keyed.as(keyed.key("k-1", "initech", model.Viewer))
	require.Equal(t, [][3]string{{"initech", "set", "tenants/initech"}}, k.entries("limit=500"))
	require.Len(t, b.entries("tenant=initech"), 3)
}

func TestAuditListCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1", quarantined)
	b.must(http.StatusAccepted, http.MethodPost, acme+"/exports/u-1/release", "")
	b.Clock.Advance(time.Hour)
	b.must(http.StatusOK, http.MethodPost, acme+"/integrations/hris/disable", "")
	out, _, err := b.cli("audit", "list")
	require.NoError(t, err)
	require.Regexp(t, `^AT +WHO +DID +TENANT +OBJECT\n`+
		`2026-11-20T13:00:00Z \(\d+\w ago\)  admin endpoint  disable  acme    integrations/hris\n`+
		`2026-11-20T12:00:00Z \(\d+\w ago\)  admin endpoint  release  acme    exports/u-1\n$`, out)
	out, _, err = b.cli("audit", "list", "--tenant", "acme", "--object", "exports/u-1", "--action", "release",
		"--since", "2026-11-20T12:00:00Z", "--until", "2026-11-20T12:30:00Z")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(out, "\n"), out)
	_, _, err = b.cli("audit", "list", "--since", "yesterday")
	require.ErrorContains(t, err, "--since")
	out, _, err = b.cli("export", "show", "acme/u-1")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^AT +WHO +DID\n2026-11-20T12:00:00Z \(\d+\w ago\)  admin endpoint  release$`, out)
}

// actorOf is who did what is done.
func (b *fixture) actorOf(t *testing.T, do func()) string {
	t.Helper()
	do()
	page, _, err := b.Runtime.Store().ListAudit(t.Context(), store.AuditFilter{Limit: 1})
	require.NoError(t, err)
	return page[0].Actor
}

// A change and its entry are there together or not at all: where the audit can't be written, nothing is changed.
func TestNoChangeWithoutItsEntry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1", quarantined)
	other, err := sql.Open("sqlite", "file:"+filepath.Join(b.Folder, "hiregate.db"))
	require.NoError(t, err)
	defer other.Close()
	_, err = other.ExecContext(t.Context(), `CREATE TRIGGER refused BEFORE INSERT ON audit
		BEGIN SELECT raise(ABORT, 'refused'); END`)
	require.NoError(t, err)
	b.must(http.StatusServiceUnavailable, http.MethodPost, acme+"/exports/u-1/release", "")
	b.must(http.StatusServiceUnavailable, http.MethodPost, acme+"/exports/u-1/erase", `{"cancel":true}`)
	b.must(http.StatusServiceUnavailable, http.MethodPut, "/v1/tenants/initech", `{}`)
	b.must(http.StatusNotFound, http.MethodGet, "/v1/tenants/initech", "")
	e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", "u-1")
	require.NoError(t, err)
	require.True(t, e.Quarantined)
	require.Zero(t, e.ErasedAt)
}

// Each route that changes something has its word in the audit, but for what recruiting systems write all day, and so has
// each that serves files. A test of an integration, and a search, change nothing.
func TestActionsOfTheAudit(t *testing.T) {
	t.Parallel()
	free := map[string]bool{}
	for _, r := range manageapi.Routes() {
		switch {
		case r.Method == http.MethodGet && (r.Action == "download" || r.Action == "show-answers" || r.Action == "take-out"):
		case r.Method == http.MethodGet:
			require.Empty(t, r.Action, r.Path)
		case r.Action == "":
			free[r.Method+" "+r.Path] = true
		}
	}
	require.Equal(t, map[string]bool{
		"POST /v1/export-search": true, "POST /v1/tenants/{tenant}/export-search": true,
		"PUT /v1/tenants/{tenant}/candidates/{id}": true, "PUT /v1/tenants/{tenant}/jobs/{id}": true,
		"PUT /v1/tenants/{tenant}/job-applications/{id}":              true,
		"PATCH /v1/tenants/{tenant}/candidates/{id}":                  true,
		"PATCH /v1/tenants/{tenant}/jobs/{id}":                        true,
		"PATCH /v1/tenants/{tenant}/job-applications/{id}":            true,
		"POST /v1/tenants/{tenant}/job-applications/{id}/documents":   true,
		"POST /v1/tenants/{tenant}/integrations/{name}/test":          true,
		"POST /v1/tenants/{tenant}/receiver-tests":                    true,
		"POST /v1/tenants/{tenant}/apply-upstream/test":               true,
		"POST /v1/tenants/{tenant}/job-applications/{id}/transitions": true,
		"POST /v1/tenants/{tenant}/jobs/{id}/questions/check":         true,
	}, free)
}
