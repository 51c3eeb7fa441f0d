package documents_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	archive "github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/documents"
)

// fixture serves the documents of one export, each under a token of its own.
type fixture struct {
	*gatewaytest.Fixture
	*documents.Server
	export *model.Export
	next   int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	g := gatewaytest.New(t)
	b := &fixture{Fixture: g, Server: &documents.Server{Gateway: g.Gateway, Log: g.Log}}
	b.export = inbox.NewExport("acme", "u-1", []byte("{}"), g.Now())
	_, err := inbox.Accept(t.Context(), g.Runtime.Store(), b.export)
	require.NoError(t, err)
	return b
}

// needs are the needs of documents, without when they began.
func (b *fixture) needs(t *testing.T) []model.Need {
	t.Helper()
	all, err := b.Runtime.Needs(t.Context(), b.Clock.Now())
	require.NoError(t, err)
	all = slices.DeleteFunc(all, func(n model.Need) bool { return n.Kind != model.NeedDocuments })
	for n := range all {
		require.False(t, all[n].Since.IsZero())
		all[n].Since = time.Time{}
	}
	return all
}

// add keeps a document as change leaves it, and gives its path and file name in the document store.
func (b *fixture) add(t *testing.T, content []byte, till time.Time, change func(*model.Document)) (path, blob string) {
	t.Helper()
	position := b.next
	b.next++
	b.Write(t, func(tx *store.Tx) error {
		return tx.InsertDocument(model.Document{ExportID: b.export.ID, Tenant: "acme", Position: position,
			SourceURL: []byte("https://service.example/d"), CreatedAt: b.Clock.Now()})
	})
	all, err := b.Runtime.Store().ListDocuments(t.Context(), b.export.ID)
	require.NoError(t, err)
	d := all[position]
	if content != nil {
		kept, err := b.Runtime.Archive.Files.Put(t.Context(), b.Runtime.Archive.Files.NewName(), bytes.NewReader(content),
			archive.MaxSize)
		require.NoError(t, err)
		d.State, d.Blob, d.Size, d.SHA256, d.Detected, d.FetchedAt = model.Fetched, kept.Name, kept.Size, kept.SHA256[:],
			kept.Detected, b.Clock.Now()
	}
	change(d)
	token, hash := archive.NewToken()
	b.Write(t, func(tx *store.Tx) error {
		if _, err := tx.UpdateDocument(d); err != nil {
			return err
		}
		return tx.InsertLink(hash, d.ID, till)
	})
	return "/documents/" + token, d.Blob
}

func (b *fixture) ask(method, path string, accept ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "https://gate.example.com", nil)
	r.URL.Path = path
	r.Header["Accept"] = accept
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// requireProblem compares a whole refusal, to GET and to HEAD: status, every header, and the body.
func (b *fixture) requireProblem(t *testing.T, path string, status int, detail string, more ...string) {
	t.Helper()
	want := http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"},
		"X-Content-Type-Options": {"nosniff"}}
	for n := 0; n < len(more); n += 2 {
		want[more[n]] = []string{more[n+1]}
	}
	body, err := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
	require.NoError(t, err)
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for _, accept := range [][]string{nil, {"application/octet-stream"}} {
			got := b.ask(method, path, accept...)
			require.Equal(t, status, got.Code, "%s %s", method, got.Body)
			require.Equal(t, want, got.Header())
			require.JSONEq(t, string(body), got.Body.String())
		}
	}
}

func resume(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/samples/resume.pdf")
	require.NoError(t, err)
	return raw
}

// document is the contract's Document object.
type document struct {
	Content  []byte `json:"content"`
	MimeType string `json:"mimeType"`
	FileName string `json:"fileName"`
}
