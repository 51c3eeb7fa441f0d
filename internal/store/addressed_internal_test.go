package store

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// The migration gives each export that is under way the deliveries that its round lacks, and touches no others.
func TestMigrationGivesDeliveries(t *testing.T) {
	t.Parallel()
	file, err := fs.ReadFile(migrations, "migrations/00038_addressed.sql")
	require.NoError(t, err)
	_, insert, _ := strings.Cut(string(file), "WITH RECURSIVE")
	insert, _, _ = strings.Cut("WITH RECURSIVE"+insert, ";")
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{Log: zap.NewNop()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		accept := func(key string, integrations ...string) *model.Export {
			e := &model.Export{ID: model.NewID(now), Tenant: "acme", Key: key, Origin: model.Received, Receipt: key, ReceivedAt: now,
				DocumentsTill: now, DeliverTill: now, Body: []byte(key), WorkflowID: key, Integrations: integrations}
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { _, err := tx.InsertExport(e); return err }))
			return e
		}
		one, none, dispatched := accept("one", "hris"), accept("none"), accept("dispatched")
		several, settled := accept("several", "a", "crm-2", "hris"), accept("settled", "hris")
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			d := model.NewDelivery(several, "crm-2", 0, now)
			d.Deliver()
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
			if err := tx.sql.Run(`UPDATE exports SET dispatched_at = $1, integrations = 'crm hris' WHERE id = $2`,
				rows.Micros(now.Add(time.Minute)), dispatched.ID); err != nil {
				return err
			}
			return tx.sql.Run(`UPDATE exports SET unsettled = FALSE WHERE id = $1`, settled.ID)
		}))
		for range 2 {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.sql.Run(insert) }))
			for e, want := range map[*model.Export]string{one: "[hris:pending]", none: "[]", dispatched: "[crm:pending hris:pending]",
				several: "[a:pending crm-2:delivered hris:pending]", settled: "[]"} {
				deliveries, err := db.ListDeliveries(t.Context(), e.ID)
				require.NoError(t, err)
				said := []string{}
				for _, d := range deliveries {
					said = append(said, d.Integration+":"+string(d.Outcome))
				}
				require.Equal(t, want, fmt.Sprint(said), e.Key)
			}
		}
		deliveries, err := db.ListDeliveries(t.Context(), dispatched.ID)
		require.NoError(t, err)
		require.Equal(t, now.Add(time.Minute), deliveries[0].CreatedAt)
	})
}
