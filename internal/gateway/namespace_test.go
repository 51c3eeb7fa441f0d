package gateway

import (
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/metrics/metricstest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/workflows"
	"github.com/hiregate/hiregate/workflows/mark"
	"github.com/hiregate/hiregate/workflows/temporaltest"
)

// node is a runtime on a database, with what it logs.
type node struct {
	*Runtime
	logged *observer.ObservedLogs
}

func newNode(t *testing.T, database, temporal string) node {
	t.Helper()
	core, logged := observer.New(zapcore.InfoLevel)
	shared := &Database{Address: database}
	r, err := NewRuntime(Settings{Database: database, Documents: filepath.Join(t.TempDir(), "documents"),
		Temporal: temporal, Namespace: "default"}, shared, zap.New(core))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Destruct())
		require.NoError(t, shared.Destruct())
	})
	r.markEvery = 50 * time.Millisecond
	return node{r, logged}
}

// start starts the node with a configuration, which is in force then.
func (n node) start(t *testing.T, takeOver string) error {
	t.Helper()
	c := &config.Config{PublicURL: "https://gate.example.com", TakeOver: takeOver}
	err := n.startFor(t.Context(), c)
	if err == nil {
		n.InForce.Push(c)
	}
	return err
}

func (n node) id(t *testing.T) string {
	t.Helper()
	id, err := n.Store().ID(t.Context())
	require.NoError(t, err)
	return id
}

func (n node) requireUp(t *testing.T) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.NoError(c, n.TemporalReady(t.Context())) },
		time.Minute, 20*time.Millisecond)
}

// requireForeign waits until the node says that its namespace belongs to another database.
func (n node) requireForeign(t *testing.T, id string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		fault := new(TemporalFault)
		require.ErrorAs(c, n.TemporalReady(t.Context()), &fault)
		assert.Contains(c, fault.Reason, "belongs to another database, with the id "+id)
	}, time.Minute, 20*time.Millisecond)
}

func TestASecondDatabaseInANamespaceIsRefused(t *testing.T) {
	t.Parallel()
	address, c := temporaltest.New(t)
	first := newNode(t, storetest.SQLite(t), address)
	require.NoError(t, first.start(t, ""))
	first.requireUp(t)
	m, err := mark.Read(t.Context(), c, "default")
	require.NoError(t, err)
	require.Equal(t, []string{first.id(t), "https://gate.example.com"}, []string{m.Database, m.Gateway})

	second := newNode(t, storetest.SQLite(t), address)
	err = second.start(t, "")
	require.EqualError(t, err, "namespace default of Temporal belongs to another database, with the id "+first.id(t)+
		", whose gateway of https://gate.example.com marked it at "+m.SetAt.UTC().Format("2006-01-02 15:04 MST")+
		": give this gateway a namespace of its own, with the option namespace of temporal; or, if its database takes the "+
		"place of that one, which no gateway uses any more, write `take_over "+first.id(t)+"` there")
	first.requireUp(t)
}

// Two nodes that share PostgreSQL are of one database, and so is a restored backup.
func TestNodesOfOneDatabaseShareItsNamespace(t *testing.T) {
	t.Parallel()
	address, _ := temporaltest.New(t)
	database := storetest.Postgres(t)
	for range 2 {
		n := newNode(t, database, address)
		require.NoError(t, n.start(t, ""))
		n.requireUp(t)
	}
}

// A start waits for no Temporal. The gateway accepts meanwhile, and starts nothing before it knows whose the namespace
// is.
func TestANamespaceIsLookedAtBeforeAnythingStarts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	at := l.Addr().(*net.TCPAddr)
	n := newNode(t, storetest.SQLite(t), at.String())
	require.NoError(t, n.start(t, ""))

	temporaltest.Start(t, t.TempDir(), at.Port)
	c, err := client.NewLazyClient(client.Options{HostPort: at.String()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	// Another one has it, whoever of the two was first.
	err = mark.Set(t.Context(), c, mark.Mark{Database: "another"}, true)
	require.NoError(t, err)
	n.requireForeign(t, "another")
	_, err = n.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "export/acme/u-1",
		TaskQueue: workflows.DeliverQueue}, "export")
	require.Contains(t, workflows.Barred(err), "belongs to another database")
	require.True(t, workflows.Unanswered(err))
	require.Contains(t, n.Dispatcher.Undispatched(&model.Export{Tenant: "acme"}, &config.Config{
		Tenants: map[string]*model.Tenant{"acme": {}}}), "belongs to another database")
	status, _, err := workflows.Status(t.Context(), c, "default", "export/acme/u-1")
	require.NoError(t, err)
	require.Zero(t, status, "it was started")
}

// Until it is known whose the namespace is, no call goes through that starts or asks for anything.
func TestABarrierIsClosedAtFirst(t *testing.T) {
	t.Parallel()
	address, _ := temporaltest.New(t)
	n := newNode(t, storetest.SQLite(t), address)
	_, _, err := workflows.Status(t.Context(), n.client, "default", "export/acme/u-1")
	require.ErrorContains(t, err, workflows.NotAskedYet)
	require.True(t, workflows.Unanswered(err))
	require.NoError(t, n.start(t, ""))
	_, _, err = workflows.Status(t.Context(), n.client, "default", "export/acme/u-1")
	require.NoError(t, err)
}

// It is not parallel: the gauge is that of the process.
func TestARunningGatewayFindsItselfAStranger(t *testing.T) {
	address, c := temporaltest.New(t)
	n := newNode(t, storetest.SQLite(t), address)
	require.NoError(t, n.start(t, ""))
	n.requireUp(t)
	require.Zero(t, metricstest.Gauge(t, "hiregate_namespace_foreign"))

	other := mark.Mark{Database: "0f8a6c1e-5d0e-4a57-9f0b-0c6f3f2b7a11", Gateway: "https://other.example.com", SetAt: time.Now()}
	require.NoError(t, mark.Set(t.Context(), c, other, true))
	n.requireForeign(t, other.Database)
	require.Equal(t, 1.0, metricstest.Gauge(t, "hiregate_namespace_foreign"))
	needs, err := n.Needs(t.Context(), time.Now())
	require.NoError(t, err)
	require.Len(t, needs, 1)
	require.Equal(t, model.NeedForeign, needs[0].Kind)
	require.Contains(t, needs[0].Sentence, "nothing is delivered: namespace default of Temporal belongs to another database")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		entries := n.logged.FilterMessageSnippet("no workflow is started").All()
		require.NotEmpty(c, entries)
		assert.Equal(c, zapcore.ErrorLevel, entries[0].Level)
		assert.Contains(c, entries[0].ContextMap()["reason"], "of https://other.example.com")
	}, time.Minute, 20*time.Millisecond)

	// A reload that says so takes it back.
	before := n.InForce.Current()
	n.InForce.Push(&config.Config{PublicURL: before.PublicURL, TakeOver: other.Database})
	n.InForce.Drop(before)
	n.requireUp(t)
	require.Zero(t, metricstest.Gauge(t, "hiregate_namespace_foreign"))
}

func TestANamespaceIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, take := range []string{"", TakeOverAny} {
		address, c := temporaltest.New(t)
		lost := mark.Mark{Database: "0f8a6c1e-5d0e-4a57-9f0b-0c6f3f2b7a11", SetAt: time.Now()}
		require.NoError(t, mark.Set(t.Context(), c, lost, false))
		if take == "" {
			refused := newNode(t, storetest.SQLite(t), address)
			require.Error(t, refused.start(t, "3c1c7cd6-0000-4000-8000-000000000000"), "it is another one that it may take over")
			take = lost.Database
		}
		n := newNode(t, storetest.SQLite(t), address)
		require.NoError(t, n.start(t, take))
		n.requireUp(t)
		m, err := mark.Read(t.Context(), c, "default")
		require.NoError(t, err)
		require.Equal(t, n.id(t), m.Database)
		entries, _, err := n.Store().ListAudit(t.Context(), store.AuditFilter{Action: "take-over"})
		require.NoError(t, err)
		require.Len(t, entries, 1)
		require.Equal(t, []string{"configuration", "namespaces/default"}, []string{entries[0].Actor, entries[0].Object})
	}
}

// A validation opens nothing, and says what the start would.
func TestANamespaceIsLookedAtWithoutOpeningTheDatabase(t *testing.T) {
	t.Parallel()
	address, _ := temporaltest.New(t)
	own := storetest.SQLite(t)
	n := newNode(t, own, address)
	require.NoError(t, n.Namespace(t.Context(), &config.Config{}), "nobody has marked it")
	require.NoError(t, n.start(t, ""))
	require.NoError(t, newNode(t, own, address).Namespace(t.Context(), &config.Config{}), "it is its own")
	require.ErrorContains(t, newNode(t, storetest.Postgres(t), address).Namespace(t.Context(), &config.Config{}),
		"belongs to another database")
	missing := filepath.Join(t.TempDir(), "hiregate.db")
	n = newNode(t, "sqlite://"+(&url.URL{Path: missing}).EscapedPath(), address)
	err := n.Namespace(t.Context(), &config.Config{})
	fault := new(TemporalFault)
	require.ErrorAs(t, err, &fault)
	require.Contains(t, fault.Reason, "belongs to another database")
	require.NoFileExists(t, missing)
	id := strings.Fields(fault.Reason[strings.Index(fault.Reason, "take_over "):])[1]
	require.NoError(t, n.Namespace(t.Context(), &config.Config{TakeOver: strings.TrimSuffix(id, "`")}))
}
