package console

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// The page of an export that was triggered names who did it, to those who may see the audit. A partner who came by a
// link sees no names of staff.
func TestAuthorOfAnExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered, func(e *model.Export) { e.Origin = model.Triggered })
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertAudit(model.AuditEntry{At: b.Clock.Now(), Action: model.ActionExport, Tenant: "acme",
			Object: "exports/" + uuid(1), Author: model.Author{Actor: "console:7", Name: "Rosa Recruiter",
				Email: "rosa@example.com"}})
	})
	page := "/exports/acme/" + uuid(1)
	require.Regexp(t, `Triggered by</dt><dd><bdi>Rosa Recruiter</bdi> &lt;rosa@example.com&gt; <span class="id">console:7<`,
		b.see(viewer, page, http.StatusOK))
	require.Contains(t, b.see(ops, "/audit", http.StatusOK), "Rosa Recruiter")
	w := b.send("", http.MethodGet, page, nil, b.portal("acme", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "Rosa")
}
