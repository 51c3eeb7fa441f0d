package receiver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/receiver"
)

const noReceipt = "there is no such receipt"

func TestAcceptedExportGetsAReceipt(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	got := b.send(request{uuid: "u-1", body: full})
	r := requireReceipt(t, got, http.StatusAccepted)
	require.Equal(t, "5f51f2e2c072557343709110906d9d633762bd1681918164bab03ca842660b4b", r.SHA256,
		"sha256sum testdata/samples/export-full.json says otherwise")
	require.Equal(t, "/hooks/acme/receipts/"+r.Receipt, got.Header().Get("Location"))
	require.JSONEq(t, `{"receipt":"`+r.Receipt+`","sha256":"`+r.SHA256+`","receivedAt":"2026-11-20T12:00:00Z"}`,
		got.Body.String())

	e := b.Exports(t)[0]
	require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
	require.Equal(t, full, e.Body)
	require.Equal(t, "c0a8b5f2-6c1e-4c55-9a53-0d2f6a1d7e10", e.CandidateID)
	require.Equal(t, 2, e.Attachments)
	require.Equal(t, gatewaytest.Noon, e.ReceivedAt)
	require.Equal(t, gatewaytest.Noon.Add(150*time.Minute), e.DocumentsTill)
	require.Equal(t, gatewaytest.Noon.Add(72*time.Hour), e.DeliverTill)
	require.Equal(t, "export/acme/u-1", e.WorkflowID)
}

// status is the answer at a receipt's address; decode refuses any field beyond these.
type status struct {
	receipt
	Deliveries []struct {
		Integration string    `json:"integration"`
		Outcome     string    `json:"outcome"`
		Attempts    int       `json:"attempts"`
		UpdatedAt   time.Time `json:"updatedAt"`
	} `json:"deliveries"`
	Documents struct{ Referenced, Fetched, GivenUp int } `json:"documents"`
}

func TestReceiptTellsWhatBecameOfTheExport(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Reconfigure(func(c *config.Config) {
		c.Tenants["acme"].Integrations = []model.Integration{{Tenant: "acme", Name: "hris"}}
	})
	accepted := b.send(request{uuid: "u-1", body: full, more: http.Header{"Link": {"https://service.example/c/zoe"}}})
	kept := requireReceipt(t, accepted, http.StatusAccepted)
	ask := func() (s status) {
		got := b.get(accepted.Header().Get("Location"))
		require.Equal(t, http.StatusOK, got.Code)
		require.Equal(t, http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}, got.Header())
		for _, personal := range []string{"Zoë", "Ødegård", "zoe", "503", "c0a8b5f2", "97205", "doc-1", "partner says",
			"resume", "u-1", "127.0.0.1"} {
			require.NotContains(t, got.Body.String(), personal)
		}
		return decode[status](t, got.Body.Bytes())
	}
	s := ask()
	require.Equal(t, kept, s.receipt)
	require.Len(t, s.Deliveries, 1)
	require.Equal(t, "pending", s.Deliveries[0].Outcome)
	require.Equal(t, struct{ Referenced, Fetched, GivenUp int }{2, 0, 0}, s.Documents)

	id := b.Exports(t)[0].ID
	later := gatewaytest.Noon.Add(time.Minute)
	b.Write(t, func(tx *store.Tx) error {
		for n := range 2 {
			if err := tx.InsertDocument(model.Document{ExportID: id, Tenant: "acme", Position: n,
				SourceURL: []byte("http://127.0.0.1/doc-1"), CreatedAt: later}); err != nil {
				return err
			}
		}
		return tx.UpsertDelivery(&model.Delivery{ExportID: id, Tenant: "acme", Integration: "hris", Outcome: model.Retrying,
			Fault:  model.ClassPartnerFault,
			Reason: "partner says Zoë", Attempts: 3, CreatedAt: later, UpdatedAt: later})
	})
	docs, err := b.Runtime.Store().ListDocuments(t.Context(), id)
	require.NoError(t, err)
	docs[0].State, docs[0].FileName = model.Fetched, "resume of Zoë.pdf"
	docs[1].State, docs[1].Reason = model.GivenUp, "Zoë"
	b.Write(t, func(tx *store.Tx) error {
		for _, d := range docs {
			if _, err := tx.UpdateDocument(d); err != nil {
				return err
			}
		}
		return nil
	})
	s = ask()
	require.Equal(t, kept, s.receipt)
	require.Equal(t, struct{ Referenced, Fetched, GivenUp int }{2, 1, 1}, s.Documents)
	require.Len(t, s.Deliveries, 1)
	d := s.Deliveries[0]
	require.Equal(t, "hris", d.Integration)
	require.Equal(t, "retrying", d.Outcome)
	require.Equal(t, 3, d.Attempts)
	require.Equal(t, later, d.UpdatedAt)

	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertDelivery(&model.Delivery{ExportID: id, Tenant: "acme", Integration: "hris", Round: 1,
			Outcome: model.Delivered, Attempts: 1, CreatedAt: later, UpdatedAt: later})
	})
	s = ask()
	require.Len(t, s.Deliveries, 1, "the latest to each integration")
	require.Equal(t, "delivered", s.Deliveries[0].Outcome)

	head := b.do(request{method: http.MethodHead, path: accepted.Header().Get("Location")}.make())
	require.Equal(t, http.StatusOK, head.Code)
	for _, method := range []string{"PUT", "DELETE", "POST"} {
		r := request{method: method, path: accepted.Header().Get("Location")}.make()
		r.Body = unread{t}
		requireProblem(t, b.do(r), http.StatusMethodNotAllowed, "this address takes GET, HEAD only", "Allow", "GET, HEAD")
	}
}

// Whoever posts to the address of a receipt has mistaken it for the hook's. Taken for an export, it would seem to have
// arrived where its sender meant it to.
func TestExportSentToAReceiptIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for _, from := range []struct {
		receiver.TenantFrom
		query string
	}{{b.Tenant, ""}, {receiver.TenantFrom{Query: "client"}, "client=acme"}} {
		b.Tenant = from.TenantFrom
		for _, path := range []string{"/hooks/acme/receipts/x", "/hooks/acme/receipts/" + model.NewReceipt(1)} {
			for _, event := range []string{webhook.EventExport, webhook.EventVerify} {
				requireProblem(t, b.send(request{path: path, query: from.query, event: event}), http.StatusMethodNotAllowed,
					"this address takes GET, HEAD only", "Allow", "GET, HEAD")
			}
		}
	}
	require.Empty(t, b.Exports(t))
}

// The segment in front of the tenant's may have any name.
func TestHookBelowAPathCalledReceipts(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	accepted := b.send(request{path: "/receipts/acme"})
	requireReceipt(t, accepted, http.StatusAccepted)
	require.Equal(t, http.StatusOK, b.get(accepted.Header().Get("Location")).Code)
}

// A receipt is told to nobody else, and one that never was looks the same.
func TestReceiptOfAnotherTenantOrNone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	mine := requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted).Receipt
	unknown := b.get("/hooks/acme/receipts/" + model.NewReceipt(1))
	requireProblem(t, unknown, http.StatusNotFound, noReceipt)
	last := mine[:len(mine)-2] + map[bool]string{true: "b", false: "a"}[mine[len(mine)-2] == 'a'] + mine[len(mine)-1:]
	e, ok := model.ParseReceipt(mine)
	require.True(t, ok)
	for _, path := range []string{
		"/hooks/globex/receipts/" + mine, "/hooks/nobody/receipts/" + mine, "/hooks/receipts/" + mine, "/receipts/" + mine,
		"/hooks/acme/receipts/" + last, "/hooks/acme/receipts/" + mine[:38], "/hooks/acme/receipts/" + mine + "a",
		"/hooks/acme/receipts/" + strings.ToUpper(mine),
		"/hooks/acme/receipts/" + mine + "\n", "/hooks/acme/receipts/" + model.NewReceipt(e), "/hooks/acme/receipts/u-1",
		"/hooks/acme/receipts/%", "/hooks/acme/receipts/\x00",
	} {
		got := b.get(path)
		require.Equal(t, http.StatusNotFound, got.Code, path)
		require.Equal(t, unknown.Header(), got.Header(), path)
		require.Equal(t, unknown.Body.Bytes(), got.Body.Bytes(), path)
	}
	require.Equal(t, http.StatusMethodNotAllowed, b.get("/hooks/acme/receipts/").Code)
	require.Equal(t, http.StatusMethodNotAllowed, b.get("/hooks/acme/"+mine).Code)
}

func TestReceiptsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	seen := map[string]bool{}
	for n := range 20 {
		r := requireReceipt(t, b.send(request{body: another(n)}), http.StatusAccepted).Receipt
		tail := r[len(r)-26:] // past the id
		require.False(t, seen[tail])
		seen[tail] = true
	}
}

// tenant_from query: the identifier stands in the query, which a receipt's address does without.
func TestTenantFromTheQuery(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Tenant = receiver.TenantFrom{Query: "client"}
	got := b.send(request{path: "/hooks", query: "x=1&client=globex", secret: "globex-secret", uuid: "u-1"})
	r := requireReceipt(t, got, http.StatusAccepted)
	require.Equal(t, "/hooks/receipts/"+r.Receipt, got.Header().Get("Location"))
	require.Equal(t, "globex", b.Exports(t)[0].Tenant)
	asked := b.get(got.Header().Get("Location"))
	require.Equal(t, http.StatusOK, asked.Code)
	require.Equal(t, r, decode[status](t, asked.Body.Bytes()).receipt)
	for query, code := range map[string]int{"client=globex": http.StatusOK, "client=acme": http.StatusNotFound,
		"client=nobody": http.StatusNotFound} {
		require.Equal(t, code, b.send(request{method: http.MethodGet, path: "/hooks/receipts/" + r.Receipt,
			query: query}).Code, query)
	}
	for _, query := range []string{"client=globex&x=%zz", "%zz&client=globex", "client=globex&x=a;b",
		"x=1;y=2&cl%69ent=glob%65x&"} {
		got := b.send(request{path: "/hooks", query: query, secret: "globex-secret", uuid: "u-1"})
		require.Equal(t, r, requireReceipt(t, got, http.StatusOK), query)
	}
	for _, query := range []string{"", "client", "client=", "client=nobody", "Client=globex",
		"client=globex&client=globex", "client=acme&client=globex",
		"client=GLOBEX", "client=globex%20", "client=%zz", "client=globex;x", "x=1;client=globex",
		"client=globex&client=%zz", "client=%zz&client=globex",
		"client=&client=globex", "client=globex&cl%69ent=globex", "client=globex&client"} {
		requireProblem(t, b.send(request{path: "/hooks/globex", query: query, secret: "globex-secret"}), http.StatusNotFound,
			nobody, "Connection", "close")
	}
	requireProblem(t, b.send(request{path: "/hooks", query: "client=acme", secret: "globex-secret"}),
		http.StatusUnauthorized, notOurs)
}

// A hook at the root: with two slashes at its head a receipt's address would name a host, and whoever has the receipt
// may ask.
func TestReceiptOfAHookAtTheRoot(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.Tenant = receiver.TenantFrom{Query: "client"}
	for _, path := range []string{"/", "", "//"} {
		got := b.do(func() *http.Request {
			r := request{query: "client=acme", uuid: "u-" + path}.make()
			r.URL.Path = path
			return r
		}())
		r := requireReceipt(t, got, http.StatusAccepted)
		require.Equal(t, "/receipts/"+r.Receipt, got.Header().Get("Location"))
		require.Equal(t, http.StatusOK, b.get(got.Header().Get("Location")).Code)
	}
}

func TestTenantFromAPathSegment(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for n, paths := range map[int][]string{
		0: {"/acme", "/acme/", "/acme/more", "acme"},
		1: {"/hooks/acme", "/hooks/acme/", "/x/acme/y/z"},
		3: {"/a/b/c/acme"},
	} {
		b.Tenant = receiver.TenantFrom{Segment: &n}
		for _, path := range paths {
			got := b.send(request{path: path, uuid: path})
			requireReceipt(t, got, http.StatusAccepted)
			require.True(t, strings.HasPrefix(got.Header().Get("Location"), "/"+strings.Trim(path, "/")+"/receipts/"), path)
			require.Equal(t, http.StatusOK, b.get(got.Header().Get("Location")).Code, path)
		}
		require.Equal(t, http.StatusNotFound, b.send(request{path: "/x/x/x/x/acme"}).Code)
	}
}

func TestTenantFromIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		hint string
	}{
		{nil, "takes two words: path N, where 0 is the first segment, or query NAME"},
		{[]string{"path"}, "takes two words"},
		{[]string{"path", "1", "2"}, "takes two words"},
		{[]string{"path", "one"}, "give the number of a path segment"},
		{[]string{"path", "-1"}, "give the number of a path segment"},
		{[]string{"path", "33"}, "give the number of a path segment"},
		{[]string{"query", ""}, "give the name of a query parameter"},
		{[]string{"header", "X"}, "write path N or query NAME"},
	} {
		_, err := receiver.ParseTenantFrom(c.args)
		require.ErrorContains(t, err, c.hint)
	}
	from, err := receiver.ParseTenantFrom([]string{"path", "32"})
	require.NoError(t, err)
	raw, err := json.Marshal(from)
	require.NoError(t, err)
	require.JSONEq(t, `{"path":32}`, string(raw))
	from, err = receiver.ParseTenantFrom([]string{"query", "client"})
	require.NoError(t, err)
	require.Equal(t, receiver.TenantFrom{Query: "client"}, from)
}

// U+0000 is legal in JSON, and not in PostgreSQL's text.
func TestCandidateIDWithNUL(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	body := strings.Replace(string(full), "c0a8b5f2-6c1e-4c55-9a53-0d2f6a1d7e10", `c\u0000-1`, 1)
	requireReceipt(t, b.send(request{body: []byte(body)}), http.StatusAccepted)
	e := b.Exports(t)[0]
	require.Equal(t, "c\ufffd-1", e.CandidateID)
	require.NoError(t, b.Runtime.Store().LoadBody(t.Context(), e))
	require.Equal(t, body, string(e.Body), "what is passed on is as it came")
	found, _, err := b.Runtime.Store().ListExports(t.Context(), store.ExportFilter{Candidate: "c\x00-1"})
	require.NoError(t, err)
	require.Len(t, found, 1, "it is not found by its own id")
}
