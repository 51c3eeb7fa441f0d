package receiver_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// publish gives the only document of the latest export a public URL, as its delivery would, and returns the body that
// goes out.
func (b fixture) publish(t *testing.T, body []byte, former string) (out []byte, url string) {
	t.Helper()
	e := b.Exports(t)[0]
	token, hash := documents.NewToken()
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: e.Tenant, SourceURL: []byte(former),
			CreatedAt: e.ReceivedAt})
	})
	docs, err := b.Runtime.Store().ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error { return tx.InsertLink(hash, docs[0].ID, e.DeliverTill) })
	url = documents.URL("https://gate.example/base", token)
	return bytes.ReplaceAll(body, []byte(former), []byte(url)), url
}

// An integration that leads back here makes another body each time, with new document URLs: without a bound it would
// go round for ever.
func TestExportThatComesBackForTheFourthTimeIsRefused(t *testing.T) {
	t.Parallel()
	acme, globex := gatewaytest.Tenant("acme"), gatewaytest.Tenant("globex")
	globex.Integrations = []model.Integration{
		{Name: "elsewhere", Tenant: "globex", URL: "https://hris.example/in"},
		{Name: "back-to-acme", Tenant: "globex", URL: "https://gate.example/hooks/acme"},
	}
	b := newFixture(t, acme, globex)
	risen := counters(t, "hiregate_received_total", "acme")
	url := "http://127.0.0.1:9099/documents/doc-1"
	body := bytes.ReplaceAll(full, []byte("http://127.0.0.1:9099/documents/doc-2"), []byte(url))
	to := func(tenant string) request {
		return request{path: "/hooks/" + tenant, secret: model.Secret(tenant + "-secret").Reveal(), body: body}
	}
	for _, tenant := range []string{"globex", "acme", "acme", "globex"} { // in from outside, and three times back
		requireReceipt(t, b.send(to(tenant)), http.StatusAccepted)
		body, url = b.publish(t, body, url)
	}
	for range 2 { // a second try fares no better
		requireProblem(t, b.send(to("acme")), http.StatusUnprocessableEntity,
			"this export has gone through this gateway 3 times already: "+
				`the integration back-to-acme leads back to this address; have it lead elsewhere, or remove it`)
	}
	require.Len(t, b.Exports(t), 4)
	require.EqualValues(t, 2, risen()["loop"])
	require.NotEmpty(t, b.Logged.FilterMessageSnippet("an export came back for the fourth time").All())
}

// URLs of the same form that are not ours say nothing.
func TestURLsOfAnotherGatewayAreNoLoop(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	token, _ := documents.NewToken()
	body := bytes.ReplaceAll(full, []byte("http://127.0.0.1:9099/documents/doc-1"),
		[]byte(documents.URL("https://other.example", token)))
	requireReceipt(t, b.send(request{body: body}), http.StatusAccepted)
}
