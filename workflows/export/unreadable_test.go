package export_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to damage what is stored

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows/export"
)

// damage changes what is stored of the body of an export.
func (b *fixture) damage(e *model.Export, statement string) {
	b.t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.file+"?_pragma=busy_timeout(5000)")
	require.NoError(b.t, err)
	defer db.Close()
	changed, err := db.ExecContext(b.t.Context(), statement, e.ID)
	require.NoError(b.t, err)
	n, err := changed.RowsAffected()
	require.NoError(b.t, err)
	require.EqualValues(b.t, 1, n)
}

// longer has a packed body say that it has a gigabyte.
const longer = `UPDATE export_bodies SET body = X'028080808004' || substr(body, 4) WHERE export_id = $1`

// One export that can't be read fails, once, and says so. The others of its group are delivered.
func TestUnreadableExportFailsAlone(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"a length of a gigabyte": longer,
		"cut off":                `UPDATE export_bodies SET body = substr(body, 1, 20) WHERE export_id = $1`,
		"of no form":             `UPDATE export_bodies SET body = X'FF00' WHERE export_id = $1`,
		"gone":                   `DELETE FROM export_bodies WHERE export_id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			logged := b.observe()
			all, ids := b.grouped(8)
			b.damage(all[3], statement)
			res, _, why := b.deliverGroup(ids)
			require.Empty(t, why)
			require.Contains(t, res, export.DeliverResult{Export: all[3].ID, Integration: "hris", Class: model.ClassOurFault})
			for n, e := range all {
				d := b.delivery(e)
				if n != 3 {
					require.Equal(t, model.Delivered, d.Outcome)
					continue
				}
				require.Equal(t, []any{model.Failed, model.ClassOurFault, store.UnreadableReason, 0},
					[]any{d.Outcome, d.Fault, d.Reason, d.Attempts})
			}
			b.deliverGroup(ids)
			told := logged.FilterMessage("what is stored of an export can't be read").All()
			require.Len(t, told, 1)
			require.Equal(t, []any{"acme", "hris", "u-3"},
				[]any{told[0].ContextMap()["tenant"], told[0].ContextMap()["integration"], told[0].ContextMap()["uuid"]})
			counts, err := b.Store.CountUnreadable(t.Context(), noon)
			require.NoError(t, err)
			require.Equal(t, map[string]store.Counted{"acme": {Count: 1, Since: noon}}, counts)
			require.EqualValues(t, 7, b.asked.Load())
		})
	}
}

// The documents of an export that can't be read are not asked for again and again, whatever the mode.
func TestUnreadableExportHasNoDocuments(t *testing.T) {
	t.Parallel()
	for _, mode := range []model.DocumentMode{model.Rehost, model.Inline, model.Passthrough} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.integration().Documents = mode
			e := b.take("u-1", `{"candidate":{"profiles":[{"attachments":[{"url":"`+b.partner.URL+`/one"}]}]}}`,
				func(e *model.Export) { e.Attachments = 1 })
			b.damage(e, longer)
			res, err := b.FetchDocuments(t.Context(), part(e))
			require.NoError(t, err)
			require.Zero(t, res)
			done, _, class := b.deliver(e)
			require.Empty(t, class)
			require.Equal(t, model.ClassOurFault, done.Class)
			require.Zero(t, b.asked.Load())
		})
	}
}
