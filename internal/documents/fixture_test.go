package documents_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	_ "github.com/hiregate/hiregate/internal/store/storetest/tables"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fixture is an archive over a real store and folder, a service that offers documents, and a clock. It never answers
// what asks for a name that begins with "hangs", and lets half a minute go by before it fails what asks for one that
// begins with "slow".
type fixture struct {
	*documents.Archive
	t       *testing.T
	config  *config.Config
	service *httptest.Server
	folder  string
	asked   atomic.Int64
	onAsked func()   // nil: nothing more happens when the service is asked
	status  sync.Map // by the last segment of the path; 200 where there is none
	mu      sync.Mutex
	now     time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, storetest.SQLite(t))
}

func newFixtureOn(t *testing.T, address string) *fixture {
	t.Helper()
	b := &fixture{t: t, now: noon, folder: t.TempDir()}
	b.service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.asked.Add(1)
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		if b.onAsked != nil {
			b.onAsked()
		}
		if strings.HasPrefix(name, "hangs") {
			<-r.Context().Done()
			return
		}
		if strings.HasPrefix(name, "slow") {
			b.advance(30 * time.Second)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if status, ok := b.status.Load(name); ok {
			w.WriteHeader(status.(int))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"content":"aGVsbG8=","mimeType":"text/plain","fileName":%q}`, name+".txt")
	}))
	t.Cleanup(b.service.Close)
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := documents.OpenFiles(b.folder)
	require.NoError(t, err)
	loopback, err := egress.ParseAllow([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	b.config = &config.Config{Egress: egress.New(egress.Policy{Allow: []egress.Allowance{loopback}}),
		PublicURL: "https://gate.example"}
	force := new(config.InForce)
	force.Push(b.config)
	b.Archive = &documents.Archive{Store: db, Files: files, InForce: force, Now: b.clock, Log: zap.NewNop()}
	return b
}

func (b *fixture) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *fixture) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// accept takes in an export whose attachments are at these paths of the service. Its layout is unusual, to see it kept.
func (b *fixture) accept(paths ...string) *model.Export {
	b.t.Helper()
	return b.acceptFor("acme", paths...)
}

func (b *fixture) acceptFor(tenant string, paths ...string) *model.Export {
	b.t.Helper()
	var attachments []string
	for n, path := range paths {
		attachments = append(attachments, fmt.Sprintf("{ \"url\" :\n\t%q, \"id\": {\"value\":\"doc-%d\"} }",
			b.service.URL+"/"+path, n))
	}
	body := fmt.Sprintf("{\"candidate\":  {\"profiles\" : [ {\"attachments\":[%s]}]}}\n", strings.Join(attachments, " ,"))
	e := inbox.NewExport(tenant, "", []byte(body), b.clock())
	e.Attachments = len(paths)
	_, err := inbox.Accept(b.t.Context(), b.Store, e)
	require.NoError(b.t, err)
	return e
}

func (b *fixture) fetch(e *model.Export) documents.Progress {
	b.t.Helper()
	p, err := b.Fetch(b.t.Context(), e)
	require.NoError(b.t, err)
	return p
}

func (b *fixture) kept() (files int) {
	b.t.Helper()
	require.NoError(b.t, filepath.WalkDir(b.folder, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	}))
	return files
}
