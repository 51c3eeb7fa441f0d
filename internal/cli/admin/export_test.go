package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestExportListPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 503 // more than the gateway gives at once
	b.Write(t, func(tx *store.Tx) error {
		for i := range n {
			e := inbox.NewExport("acme", fmt.Sprintf("u-%d", i), []byte("{}"), gatewaytest.Noon)
			if _, err := inbox.Insert(tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	ids := func(args ...string) (all map[string]bool, hints string) {
		out, hints, err := b.hiregate(append([]string{"export", "list", "--json"}, args...)...)
		require.NoError(t, err)
		all = map[string]bool{}
		for line := range strings.Lines(out) {
			var e struct{ ID, SHA256 string }
			require.NoError(t, json.Unmarshal([]byte(line), &e))
			require.Len(t, e.SHA256, 64)
			require.False(t, all[e.ID], "twice")
			all[e.ID] = true
		}
		return all, hints
	}
	all, _ := ids("--all")
	require.Len(t, all, n)
	all, _ = ids("--limit", "502")
	require.Len(t, all, 502)
	all, _ = ids()
	require.Len(t, all, 50)
	out, hints, err := b.hiregate("export", "list", "--limit", "2")
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(out, "\n"))
	require.Contains(t, hints, "--all")
	out, hints, err = b.hiregate("export", "list", "--all")
	require.NoError(t, err)
	require.Equal(t, n+1, strings.Count(out, "\n"))
	require.Empty(t, hints)
}

func about(e *model.Export) { e.Attachments, e.CandidateID = 0, "c-1" }

// A candidate may have more exports than a page holds.
func TestExportErasePages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 53
	for i := range n {
		b.Export(t, "acme", fmt.Sprint("u-", i), about)
	}
	b.Delivery(t, b.Export(t, "acme", "held", about), "hris", model.Held) // the first of the first page
	out, _, err := b.hiregate("export", "erase", "--tenant", "acme", "--candidate", "c-1", "--yes")
	require.ErrorContains(t, err, "1 were not erased")
	require.Equal(t, n+2, strings.Count(out, "\n"), out)
	out, _, err = b.hiregate("export", "list", "--tenant", "acme", "--candidate", "c-1")
	require.NoError(t, err)
	require.Regexp(t, `^EXPORT .*\nacme/held .*\n$`, out)
}

func TestExportShow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.Export(t, "acme", "a/b")
	d := b.Delivery(t, e, "hris", model.Failed, 500)
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: gatewaytest.Noon, Status: 502,
			Answer: []byte("\x1b[2J" + strings.Repeat("x", 1000)), Address: "192.0.2.7:443", Manual: true,
			Header: []byte("Content-Type: text/html\nServer: x\n"),
			Phases: model.Phases{DNS: time.Millisecond, FirstByte: 2 * time.Millisecond}}); err != nil {
			return err
		}
		return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: "acme", SourceURL: []byte("https://service.example/source-credential"),
			CreatedAt: gatewaytest.Noon})
	})
	out, _, err := b.hiregate("export", "show", "acme/a/b", "--for-client")
	require.NoError(t, err)
	require.Contains(t, out, "An export to your system was not accepted\n\nUUID: a/b\nAttempt: 2, sent 2026-11-20 12:00:00 UTC\nTo: hris, by POST\n\n"+
		"You answered after 0s: 502 Bad Gateway\n")
	require.Contains(t, out, "Next: nothing by itself.")
	require.NotContains(t, out, "xxx")
	require.NotContains(t, out, "192.0.2.7")
	out, _, err = b.hiregate("export", "show", "acme/a/b", "--for-client", "--answer")
	require.NoError(t, err)
	require.Contains(t, out, "xxx")
	out, _, err = b.hiregate("export", "show", "acme/a/b")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^uuid +a/b$`, out)
	require.Regexp(t, `(?m)^workflow +export/acme/a%2Fb$`, out)
	require.Regexp(t,
		`(?m)^hris +0 +failed +partner_fault +1 +2026-11-20T12:00:02Z \(\d+\w ago\) +- +`+
			`answered 500; only 2xx means received$`, out)
	require.Contains(t, out,
		"hris, round 0, attempt 1 (automatic): 2026-11-20T12:00:00Z, took 1.5ms: 500 Internal Server Error\n"+
			"  answer  what the partner answered\n")
	require.Contains(t, out, ""+
		"hris, round 0, attempt 2 (manual): 2026-11-20T12:00:00Z, took 0s: 502 Bad Gateway\n"+
		"  address  192.0.2.7:443\n"+
		"  phases   dns 1ms, first byte 2ms\n"+
		"  header   Content-Type: text/html; Server: x\n")
	require.Regexp(t, `(?m)^  answer   \\x1b\[2Jx{296}…$`, out)
	require.Regexp(t, `(?m)^0 +fetching +0 +0 +- +- +- +- +-$`, out)
	require.NotContains(t, out, "source-credential")
	out, _, err = b.hiregate("export", "show", "acme/a/b", "--json")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "\n"))
	require.Contains(t, out, strings.Repeat("x", 1000))
	for _, uuid := range []string{"../../x", "..", "~tilde", "a/./b"} { // what no address holds as it is
		b.Export(t, "acme", uuid)
		out, _, err = b.hiregate("export", "show", "acme/"+uuid)
		require.NoError(t, err, uuid)
		require.Contains(t, out, uuid)
		out, _, err = b.hiregate("export", "redeliver", "acme/"+uuid, "--wait", "0s")
		require.NoError(t, err, uuid)
		require.Contains(t, out, "acme/"+uuid)
	}
	_, _, err = b.hiregate("export", "show", "acme/u-2")
	require.EqualError(t, err, "this tenant has no export of that UUID")
	e = b.Export(t, "acme", "u-3")
	out, _, err = b.hiregate("export", "show", "acme/u-3", "--body")
	require.NoError(t, err)
	require.Equal(t, string(e.Body), out) // whose signature and hash match
}

// A single redelivery that is not received fails, as one of a range does.
func TestARedeliveryThatFailsExitsWithOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.Export(t, "acme", "u-1")
	b.Delivery(t, e, "hris", model.Failed, 500)
	go func() { // what the workflow of the round would do
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for t.Context().Err() == nil {
			<-tick.C
			all, err := b.Runtime.Store().ListDeliveries(t.Context(), e.ID)
			if err != nil || len(all) < 2 {
				continue
			}
			d := all[1]
			d.Outcome, d.Fault, d.Reason, d.Attempts = model.Failed, model.ClassPartnerFault, "answered 503", 1
			b.Write(t, func(tx *store.Tx) error {
				if err := tx.MarkDispatched(e.ID, 1, b.Clock.Now(), "hris"); err != nil {
					return err
				}
				return tx.UpsertDelivery(d)
			})
			return
		}
	}()
	_, _, err := b.hiregate("export", "redeliver", "acme/u-1", "--integration", "hris", "--wait", "1m")
	require.EqualError(t, err, "hris did not receive it: answered 503")
	require.Equal(t, terminal.ExitFailed, terminal.ExitCode(err))
}
