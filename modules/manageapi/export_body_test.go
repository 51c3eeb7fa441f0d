package manageapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
)

// Who may work with exports may see what is in one. That is in the audit and in the log, and the body is in neither.
func TestTheBodyOfAnExport(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		const body = "{\"candidate\": {\"name\":\"Zoë \\u00d8de\"}}\n"
		b.export("acme", "u-1", func(e *model.Export) { e.Body = []byte(body) })
		keyed := b.keyed()
		operator := keyed.as(keyed.key("k-1", "acme", model.Operator))
		viewer := keyed.as(keyed.key("k-2", "acme", model.Viewer))
		show := acme + "/exports/u-1/body"
		require.Contains(t, viewer.refused(http.StatusForbidden, http.MethodPost, show, ""), "role")
		shown := parsed[struct{ Body string }](b, operator.must(http.StatusOK, http.MethodPost, show, ""))
		require.Equal(t, body, shown.Body)
		operator.must(http.StatusMethodNotAllowed, http.MethodGet, show, "")

		require.Equal(t, [][3]string{{"acme", "show-body", "exports/u-1"}}, viewer.entries("action=show-body"))
		read := b.Logged.FilterMessage("export body read").All()
		require.Len(t, read, 1)
		require.Equal(t, "k-1", read[0].ContextMap()["actor"])
		require.Equal(t, "u-1", read[0].ContextMap()["id"])
		for _, entry := range b.Logged.All() {
			require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "Zo")
		}

		out, _, err := b.cli("export", "show", "acme/u-1", "--body")
		require.NoError(t, err)
		require.Equal(t, body, out)

		structure := acme + "/exports/u-1/structure"
		parts := parsed[struct{ Parts []model.BodyPart }](b, viewer.must(http.StatusOK, http.MethodGet, structure, "")).Parts
		require.Equal(t, []model.BodyPart{{Path: "", Type: "object", Length: 1},
			{Path: "candidate", Type: "object", Length: 1}, {Path: "candidate/name", Type: "string", Length: 7}}, parts)
		keyed.as(keyed.key("k-3", "globex", model.Admin)).must(http.StatusNotFound, http.MethodGet, structure, "")

		operator.must(http.StatusOK, http.MethodPost, acme+"/exports/u-1/erase", `{"cancel":true}`)
		require.Contains(t, viewer.refused(http.StatusGone, http.MethodGet, structure, ""), "erased")
		require.Contains(t, operator.refused(http.StatusGone, http.MethodPost, show, ""), "erased")
		require.Len(t, viewer.entries("action=show-body"), 2, "nothing was shown, and nothing is noted")
		_, _, err = b.cli("export", "show", "acme/u-1", "--body")
		require.ErrorContains(t, err, "erased")
	})
}

// A body that is sealed in the database is shown as it came.
func TestTheBodyOfASealedExport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sealer, err := vault.New("a text of more than thirty-two characters")
	require.NoError(t, err)
	database := &gateway.Database{Address: storetest.SQLite(t)}
	database.AddVault(sealer)
	b.Gateway = onDatabase(t, b, database)
	b.Gateway.Vault = sealer
	b.url = b.serve(func() *gateway.Gateway { return b.Gateway })
	require.NoError(t, b.Gateway.Start(t.Context())) // makes the data key
	const body = `{"candidate":{}}`
	e := inbox.NewExport("acme", "u-1", []byte(body), gatewaytest.Noon)
	_, err = inbox.Accept(t.Context(), b.Runtime.Store(), e)
	require.NoError(t, err)
	require.True(t, b.Runtime.Store().Sealing())
	require.Equal(t, body,
		parsed[struct{ Body string }](b, b.must(http.StatusOK, http.MethodPost, acme+"/exports/u-1/body", "")).Body)
	require.Len(t, parsed[struct{ Parts []model.BodyPart }](b,
		b.must(http.StatusOK, http.MethodGet, acme+"/exports/u-1/structure", "")).Parts, 2)
}

func TestExportsWithLostDocumentsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.export("acme", "u-1")
	lost := b.export("acme", "u-2")
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: lost.ID, Tenant: "acme", CreatedAt: gatewaytest.Noon})
	})
	documents, err := b.Runtime.Store().ListDocuments(t.Context(), lost.ID)
	require.NoError(t, err)
	documents[0].State = model.GivenUp
	b.Write(t, func(tx *store.Tx) error {
		_, err := tx.UpdateDocument(documents[0])
		return err
	})
	require.Equal(t, []string{"acme/u-2"}, get[listed](b, "/v1/exports?lostDocuments=true").ids())
	require.Empty(t, get[listed](b, "/v1/tenants/globex/exports?lostDocuments=true").ids())
	require.Contains(t, b.problem(http.MethodGet, "/v1/exports?lostDocuments=1", "", http.StatusBadRequest),
		"can only be true")
	out, _, err := b.cli("export", "list", "--lost-documents", "--tenant", "acme")
	require.NoError(t, err)
	require.Contains(t, out, "u-2")
	require.NotContains(t, out, "u-1")
}
