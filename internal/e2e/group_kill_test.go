package e2e

import (
	"bytes"
	"context"
	goflag "flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/failpoint"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// The exports of a test that kills the gateway while it delivers them as a group, and how many of them it attempts at a
// time.
const (
	inGroup  = 40
	inFlight = 4
)

// groupKill is a moment at which a gateway is killed, how many exports it has sent by then, and how many deliveries it
// has stored at least.
type groupKill struct {
	point       failpoint.Point
	least, most int
	stored      int
}

var groupKills = []groupKill{
	{failpoint.GroupStored, 0, 0, 0},
	{failpoint.GroupStarted, 0, 0, 0},
	{failpoint.DocumentKept, 0, 0, 0},
	{failpoint.AttemptMade, 1, inFlight, 0},
	{failpoint.StepCommitted, 1, inGroup, 1},
	{failpoint.GroupDelivered, inGroup, inGroup, inGroup},
}

// everywhere asks for what differs from another test by its database alone.
var everywhere = goflag.Bool("everywhere", false, "kill gateways that are alone on a PostgreSQL too, not only beside others")

// TestKilledAtEachStepOfAGroup kills a gateway at each step of the delivery of a group. The next one, or another one on
// the same database, delivers the rest. What the partner gets twice was sent when the gateway was killed, and not
// stored.
func TestKilledAtEachStepOfAGroup(t *testing.T) {
	t.Parallel()
	temporal := &system{t: t, dir: t.TempDir(), temporalPort: freePorts(t, 1)[0]}
	var tests []groupKillTest
	for _, kill := range groupKills {
		tests = append(tests, groupKillTest{kill, "sqlite", "sqlite://" + filepath.Join(t.TempDir(), "hiregate.db")},
			groupKillTest{kill, "nodes", storetest.Postgres(t)})
		if *everywhere {
			tests = append(tests, groupKillTest{kill, "postgres", storetest.Postgres(t)})
		}
	}
	for _, test := range tests {
		temporal.namespaces = append(temporal.namespaces, test.name())
	}
	temporal.startTemporal()
	ports := freePorts(t, 6*len(tests)) // for all at once: they are free until they are used

	// Side by side, and not only as many as -parallel allows: they wait most of the time, until Temporal notices that a
	// worker died.
	var all sync.WaitGroup
	defer all.Wait()
	for n, test := range tests {
		all.Go(func() {
			t.Run(test.name(), func(t *testing.T) { test.run(t, temporal.temporalPort, ports[6*n:6*n+6]) })
		})
	}
}

// groupKillTest is a kill on a database. On "nodes" another gateway runs all the time, and takes over.
type groupKillTest struct {
	groupKill
	on, address string
}

// name is also that of the test's namespace in Temporal.
func (k groupKillTest) name() string { return string(k.point) + "-" + k.on }

func (k groupKillTest) run(t *testing.T, temporal int, ports []int) {
	// A document that is not there yet holds the deliveries back. It comes once the gateway was killed, where they
	// might begin before it is.
	there := make(chan struct{})
	release := sync.OnceFunc(func() { close(there) })
	documents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-there
		_, _ = io.WriteString(w, "a résumé")
	}))
	t.Cleanup(documents.Close)
	t.Cleanup(release)
	if k.point != failpoint.GroupStarted {
		release()
	}

	connection := func(port int) string { return loopback(port) + " {\nnamespace " + k.name() + "\n}" }
	with := setup{database: k.address, documents: "file:" + t.TempDir(), connection: connection(temporal),
		tenant: fmt.Sprintf("integration hris {\nurl http://PARTNER/inbound\nsecret %s\nverify off\nin_flight %d\n}",
			outboundSecret, inFlight)}
	heir := &system{setup: with, t: t, dir: t.TempDir(), http: ports[0], admin: ports[1], own: ports[2]}
	partner := heir.startRecorder(ok)
	if k.on == "nodes" {
		heir.connection = connection(ports[3]) // it does not reach Temporal yet
		heir.configure()
		heir.startGateway()
	}
	var group []*model.Export
	for n := range inGroup {
		e := waiting(fmt.Sprint("u-", n), withDocument(fmt.Sprint("u-", n), documents.URL))
		e.Attachments = 1
		group = append(group, e)
	}
	acceptAll(t, k.address, group)

	with.failpoint = k.point
	victim := &system{setup: with, t: t, dir: t.TempDir(), http: ports[4], admin: ports[5], own: heir.own}
	victim.configure()
	victim.gateway = victim.runGateway()
	require.Equal(t, -1, victim.gateway.exitCode(), "the gateway was not killed")
	stored := delivered(t, k.address)
	sent := partner.arrivals()
	require.GreaterOrEqual(t, len(sent), k.least)
	require.LessOrEqual(t, len(sent), k.most)
	require.GreaterOrEqual(t, len(stored), k.stored)

	release()
	if k.on == "nodes" {
		forward(t, ports[3], temporal)
	} else {
		heir.configure()
		heir.startGateway()
	}
	groups := map[string]bool{}
	for _, e := range group {
		groups[heir.awaitOutcome(e.Key, "delivered").Workflow] = true
	}
	require.Len(t, groups, 1, "they are not in one group")
	for group := range groups { // it runs once more before it completes, where it did not hear of its end
		require.Regexp(t, `^exports/acme/\S+/\d+$`, group)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		require.NoError(t, heir.temporalClientOf(temporal, k.name()).GetWorkflow(ctx, group, "").Get(ctx, nil))
	}
	twice := 0
	for id, n := range partner.arrivals() {
		if stored[id] {
			require.Equal(t, 1, n, "what was stored as delivered was sent again")
		}
		twice += n - 1
	}
	require.Len(t, partner.arrivals(), inGroup)
	require.LessOrEqual(t, twice, len(sent)-len(stored), "more arrived twice than what was under way")
	t.Logf("%d sent and %d stored when it was killed, %d arrived twice", len(sent), len(stored), twice)
}

// withDocument is an export that no other is equal to, with one document.
func withDocument(id, url string) []byte {
	attachment := fmt.Sprintf(`{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},`+
		`"url":"%s/%s"}`, url, id)
	return bytes.Replace(minimal(id), []byte(`"profiles":[]`), []byte(`"profiles":[{"attachments":[`+attachment+`]}]`), 1)
}

// delivered are the keys of the exports that a database has as delivered.
func delivered(t *testing.T, address string) map[string]bool {
	t.Helper()
	db, err := store.Open(t.Context(), address, store.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	page, _, err := db.ListExports(t.Context(), store.ExportFilter{Outcome: model.Delivered, Limit: store.MaxPage})
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, e := range page {
		keys[e.Key] = true
	}
	return keys
}

// forward passes on what comes to a port to another one, from now on.
func forward(t *testing.T, from, to int) {
	t.Helper()
	listener, err := net.Listen("tcp", loopback(from))
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", loopback(to))
			if err != nil {
				near.Close()
				continue
			}
			pass := func(from, to net.Conn) { _, _ = io.Copy(to, from); from.Close(); to.Close() }
			go pass(near, far)
			go pass(far, near)
		}
	}()
}
