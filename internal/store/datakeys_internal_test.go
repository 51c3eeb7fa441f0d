package store

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/rows"
	"github.com/hiregate/hiregate/internal/store/storetest"
	"github.com/hiregate/hiregate/internal/vault"
)

// renew has what exports hold sealed, and tells whether a data key was made for it.
func renew(t *testing.T, db *DB, now time.Time) bool {
	t.Helper()
	made, err := db.RenewDataKey(t.Context(), now)
	require.NoError(t, err)
	return made
}

// keptExport is an export of which nothing must be seen in the database.
func keptExport(key string) *model.Export {
	id := model.NewID(secretsNoon)
	body := []byte(`{"candidate":"Ada Lovelace ` + key + `"}`)
	return &model.Export{
		ID: id, Tenant: "acme", Key: key, Keyed: true, Origin: model.Received, SHA256: sha256.Sum256(body), Size: int64(len(body)), Body: body, Receipt: model.NewReceipt(id), WorkflowID: key,
		ReceivedAt: secretsNoon, DocumentsTill: secretsNoon, DeliverTill: secretsNoon, Link: []byte("https://service.example/Lovelace"), ExportContext: []byte{},
	}
}

func putExport(t *testing.T, db *DB, e *model.Export) *model.Export {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.InsertExport(e)
		return err
	}))
	return e
}

func requireExport(t *testing.T, db *DB, want *model.Export) {
	t.Helper()
	got, err := db.Export(t.Context(), want.ID)
	require.NoError(t, err)
	require.NoError(t, db.LoadBody(t.Context(), got))
	require.Equal(t, string(want.Body), string(got.Body))
	require.Equal(t, want.Link, got.Link)
	require.Equal(t, want.ExportContext, got.ExportContext)
}

// column is what lies in the database.
func column(t *testing.T, db *DB, q string, args ...any) []byte {
	t.Helper()
	all, err := rows.Query(t.Context(), db.reads, func(r row) (kept []byte, err error) { err = r.Scan(&kept); return kept, err }, q, args...)
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestBodyAndHeadersAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		plain := putExport(t, db, keptExport("plain"))
		require.True(t, renew(t, db, secretsNoon))
		require.False(t, renew(t, db, secretsNoon.Add(dataKeyTime-1)))

		var sealed []*model.Export
		for n, link := range [][]byte{nil, {}, []byte("https://service.example/Lovelace")} {
			e := keptExport(fmt.Sprint("u-", n))
			e.Link = link
			if n > 0 { // else within the transaction
				require.NoError(t, db.SealBody(e))
				require.NotNil(t, e.Sealed)
			}
			sealed = append(sealed, putExport(t, db, e))
		}
		for _, e := range sealed {
			kept := column(t, db, `SELECT body FROM export_bodies WHERE export_id = $1 AND link IS NULL AND export_context IS NULL`, e.ID)
			require.Equal(t, byte(keyedBody), kept[0])
			require.NotContains(t, string(kept), "Lovelace")
			requireExport(t, db, e)
		}
		requireExport(t, db, plain)
		require.Contains(t, string(column(t, db, `SELECT body FROM export_bodies WHERE export_id = $1`, plain.ID)), "Lovelace")
	})
}

// What is sealed opens in its own place, as it was, and nowhere else.
func TestBodyIsBoundToItsExport(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		require.True(t, renew(t, db, secretsNoon))
		one, other := putExport(t, db, keptExport("u-1")), putExport(t, db, keptExport("u-2"))
		kept := column(t, db, `SELECT body FROM export_bodies WHERE export_id = $1`, one.ID)
		for _, wrong := range [][]byte{kept, kept[:len(kept)-1], kept[:dataKeyID], kept[:1+dataKeyID], append(append([]byte{}, kept[:len(kept)-1]...), kept[len(kept)-1]+1)} {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				_, err := tx.sql.Exec(`UPDATE export_bodies SET body = $1 WHERE export_id = $2`, wrong, other.ID)
				return err
			}))
			require.ErrorIs(t, db.LoadBody(t.Context(), other), errChanged)
			require.ErrorIs(t, db.LoadBody(t.Context(), other), ErrUnreadable)
		}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { _, err := tx.sql.Exec(`DELETE FROM data_keys`); return err }))
		requireExport(t, db, one)
		require.NoError(t, db.Close())
		db, _ = openSealing(t, address, formerKey)
		require.ErrorContains(t, db.LoadBody(t.Context(), one), "restore the table data_keys from a backup")
	})
}

// A change of the key seals the data keys anew, and no export.
func TestChangeOfTheKeyLeavesExportsAlone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		require.True(t, renew(t, db, secretsNoon))
		first := putExport(t, db, keptExport("u-1"))
		require.True(t, renew(t, db, secretsNoon.Add(dataKeyTime)), "a data key seals for longer than a month")
		second := putExport(t, db, keptExport("u-2"))
		kept := func(e *model.Export) []byte {
			return column(t, db, `SELECT body FROM export_bodies WHERE export_id = $1`, e.ID)
		}
		before := [][]byte{kept(first), kept(second)}
		require.NotEqual(t, before[0][1:1+dataKeyID], before[1][1:1+dataKeyID])

		resealed, err := db.Reencrypt(t.Context(), swap(t, db, newestKey, formerKey))
		require.NoError(t, err)
		require.Equal(t, 3, resealed)
		require.Equal(t, before, [][]byte{kept(first), kept(second)})
		require.NoError(t, db.Close())

		db, v := openSealing(t, address, newestKey)
		require.NoError(t, db.CheckSecrets(t.Context(), v))
		requireExport(t, db, first)
		requireExport(t, db, second)
		require.True(t, db.Sealing(), "what is written before the first renewal lies open")
		require.False(t, renew(t, db, secretsNoon.Add(dataKeyTime)), "one is made at each start")
		for _, wrong := range []*vault.Vault{new(vault.Vault), vaultOf(t, formerKey)} {
			err := db.CheckSecrets(t.Context(), wrong)
			require.ErrorIs(t, err, ErrSealed)
			require.ErrorContains(t, err, "the data key ")
			require.ErrorContains(t, err, "add that key to the block hiregate")
		}
		require.NoError(t, db.Close())

		db, _ = openSealing(t, address, formerKey)
		require.False(t, db.Sealing())
		err = db.LoadBody(t.Context(), first)
		require.ErrorIs(t, err, ErrSealed)
		require.NotErrorIs(t, err, ErrUnavailable)
		_, err = db.RenewDataKey(t.Context(), secretsNoon.Add(dataKeyTime))
		require.ErrorIs(t, err, ErrSealed, "it seals with a data key of its own beside what it can't open")
	})
}

// While a configuration with the key takes the place of one without, either may be the one that is left.
func TestNoDataKeyWithoutACommonKey(t *testing.T) {
	t.Parallel()
	db, none := openSealing(t, storetest.SQLite(t))
	require.False(t, renew(t, db, secretsNoon))
	v := vaultOf(t, formerKey)
	db.vaults.Add(v)
	require.False(t, renew(t, db, secretsNoon))
	require.False(t, db.Sealing())
	db.vaults.Remove(none)
	require.True(t, renew(t, db, secretsNoon))

	e := putExport(t, db, keptExport("u-1"))
	next := vaultOf(t, newestKey) // is refused, but is there for a moment
	db.vaults.Add(next)
	require.ErrorIs(t, db.CheckSecrets(t.Context(), next), ErrSealed)
	require.True(t, db.Sealing(), "what comes while it is refused lies open for good")
	requireExport(t, db, e)
}

// Two nodes that make a data key at once read what either writes.
func TestNodesHaveDataKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	address := storetest.Postgres(t)
	one, _ := openSealing(t, address, formerKey)
	other, _ := openSealing(t, address, newestKey, formerKey)
	key, kept, err := newDataKey("othernod", other.vaults, secretsNoon)
	require.NoError(t, err)
	require.True(t, renew(t, one, secretsNoon))
	require.NoError(t, other.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.sql.Exec(`INSERT INTO data_keys (id, sealed, created_at) VALUES ($1, $2, $3)`, kept.tenant, kept.kept, rows.Micros(secretsNoon))
		return err
	}))
	other.dataKeys.adopt(key)
	for n, db := range []*DB{one, other} {
		e := putExport(t, db, keptExport(fmt.Sprint("u-", n)))
		if n == 1 { // the other one has its key in front already, behind which one has it
			swap(t, one, formerKey, newestKey)
		}
		requireExport(t, one, e)
		requireExport(t, other, e)
	}
	third, _ := openSealing(t, address, newestKey, formerKey)
	require.False(t, renew(t, third, secretsNoon), "a node makes one though there are two")
}

// Somebody who can write to the database, and puts a data key there that they know, would have everything sealed with
// it from then on.
func TestDataKeyThatNobodySealedIsRefused(t *testing.T) {
	t.Parallel()
	db, v := openSealing(t, storetest.SQLite(t), formerKey)
	require.True(t, renew(t, db, secretsNoon))
	planted := wrapBody(make([]byte, vault.MinText))
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.sql.Exec(`INSERT INTO data_keys (id, sealed, created_at) VALUES ($1, $2, $3)`, "0000000000000000", planted, rows.Micros(secretsNoon.Add(dataKeyTime)))
		return err
	}))
	_, err := db.RenewDataKey(t.Context(), secretsNoon.Add(dataKeyTime))
	require.ErrorIs(t, err, errChanged)
	require.ErrorIs(t, db.CheckSecrets(t.Context(), v), errChanged)
	_, err = db.Reencrypt(t.Context(), v)
	require.ErrorIs(t, err, errChanged)
	require.Equal(t, planted, column(t, db, `SELECT sealed FROM data_keys WHERE id = '0000000000000000'`))
}

func TestNothingToSealWithCostsNothing(t *testing.T) {
	db, _ := openSealing(t, storetest.SQLite(t))
	e := keptExport("u-1")
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = db.SealBody(e) }))
	require.Nil(t, e.Sealed)
}

// putParts has an export deliver to an integration: a document, the body that goes out, and what was answered.
func putParts(t *testing.T, db *DB, e *model.Export) (deliveryID int64) {
	t.Helper()
	out := NewKeptBody(0)
	_, err := out.Write([]byte("Ada Lovelace goes out"))
	require.NoError(t, err)
	out, err = db.SealOutgoing(e.ID, model.Rehost, out)
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		if _, err := tx.InsertOutgoing(e.ID, model.Rehost, out); err != nil {
			return err
		}
		if err := tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: e.Tenant, SourceURL: []byte("https://service.example/Lovelace"), CreatedAt: secretsNoon}); err != nil {
			return err
		}
		offeredState := &model.ApplicationDocument{Key: 7, Blob: "b", FileName: "Lovelace.pdf", MediaType: "application/pdf", SHA256: []byte{1}}
		if err := tx.InsertOfferedDocument(offeredState, e, 1, [32]byte{byte(e.ID), byte(e.ID >> 8)}); err != nil {
			return err
		}
		d := &model.Delivery{ExportID: e.ID, Tenant: e.Tenant, Integration: "hris", Outcome: model.Delivered, CreatedAt: secretsNoon, UpdatedAt: secretsNoon}
		if err := tx.UpsertDelivery(d); err != nil {
			return err
		}
		deliveryID = d.ID
		for n, answer := range [][]byte{[]byte("\x04we took Lovelace"), nil} {
			at := secretsNoon.Add(time.Duration(n) * time.Second)
			if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, StartedAt: at, Status: 200, Answer: answer}); err != nil {
				return err
			}
		}
		return nil
	}))
	return deliveryID
}

// requireParts reads them all.
func requireParts(t *testing.T, db *DB, e *model.Export, deliveryID int64, fileName string) {
	t.Helper()
	out, err := db.Outgoing(t.Context(), e.ID, model.Rehost)
	require.NoError(t, err)
	require.Equal(t, "Ada Lovelace goes out", string(out))
	docs, err := db.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	require.Len(t, docs, 2)
	require.Equal(t, "https://service.example/Lovelace", string(docs[0].SourceURL))
	require.Equal(t, fileName, docs[0].FileName)
	require.Empty(t, docs[1].SourceURL)
	require.Equal(t, "Lovelace.pdf", docs[1].FileName)
	linked, _, err := db.DocumentByLink(t.Context(), [32]byte{byte(e.ID), byte(e.ID >> 8)})
	require.NoError(t, err)
	require.Equal(t, docs[1], linked)
	attempts, err := db.ListAttempts(t.Context(), deliveryID)
	require.NoError(t, err)
	require.Len(t, attempts, 2)
	require.Equal(t, "\x04we took Lovelace", string(attempts[0].Answer))
	require.Empty(t, attempts[1].Answer)
}

// everything is what the tables of an export have, as text.
func everything(t *testing.T, db *DB) (all []string) {
	t.Helper()
	for _, columns := range []string{`body FROM export_bodies`, `body FROM outgoing_bodies`, `source_url FROM documents`, `file_name FROM documents`,
		`sealed FROM documents`, `answer FROM attempts`, `sealed FROM attempts`} {
		kept, err := rows.Query(t.Context(), db.reads, func(r row) (kept []byte, err error) { err = r.Scan(&kept); return kept, err }, `SELECT `+columns)
		require.NoError(t, err)
		for _, one := range kept {
			all = append(all, string(one))
		}
	}
	return all
}

func fetched(t *testing.T, db *DB, e *model.Export) {
	t.Helper()
	docs, err := db.ListDocuments(t.Context(), e.ID)
	require.NoError(t, err)
	docs[0].State, docs[0].FileName, docs[0].FetchedAt = model.Fetched, "Lovelace, Ada.pdf", secretsNoon
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.UpdateDocument(docs[0])
		return err
	}))
}

func TestPartsOfAnExportAreSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		plain := putExport(t, db, keptExport("plain"))
		plainDelivery := putParts(t, db, plain)
		requireParts(t, db, plain, plainDelivery, "")
		require.True(t, renew(t, db, secretsNoon))
		requireParts(t, db, plain, plainDelivery, "")
		fetched(t, db, plain)
		requireParts(t, db, plain, plainDelivery, "Lovelace, Ada.pdf")
		require.Empty(t, everythingWith(t, db, "service.example"), "what is known of a document stays open though it was fetched since")
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.erase([]int64{plain.ID}, secretsNoon) }))

		e := putExport(t, db, keptExport("u-1"))
		delivery := putParts(t, db, e)
		requireParts(t, db, e, delivery, "")
		fetched(t, db, e)
		requireParts(t, db, e, delivery, "Lovelace, Ada.pdf")
		require.Empty(t, everythingWith(t, db, "Lovelace"))

		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.erase([]int64{e.ID}, secretsNoon) }))
		for _, one := range everything(t, db) {
			require.Empty(t, one, "something is left after the erasure")
		}
	})
}

func everythingWith(t *testing.T, db *DB, word string) (all []string) {
	t.Helper()
	for _, one := range everything(t, db) {
		if strings.Contains(one, word) {
			all = append(all, one)
		}
	}
	return all
}

func TestPartsAreBoundToTheirRow(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, _ := openSealing(t, address, formerKey)
		require.True(t, renew(t, db, secretsNoon))
		one, other := putExport(t, db, keptExport("u-1")), putExport(t, db, keptExport("u-2"))
		from, to := putParts(t, db, one), putParts(t, db, other)
		for _, copying := range []string{
			`UPDATE outgoing_bodies SET body = (SELECT o.body FROM outgoing_bodies o WHERE o.export_id = $1) WHERE export_id = $2`,
			`UPDATE documents SET sealed = (SELECT d.sealed FROM documents d WHERE d.export_id = $1 AND d.position = 0) WHERE export_id = $2 AND position = 0`,
		} {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				_, err := tx.sql.Exec(copying, one.ID, other.ID)
				return err
			}))
		}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.sql.Exec(`UPDATE attempts SET sealed = (SELECT a.sealed FROM attempts a WHERE a.delivery_id = $1 AND a.number = 1) WHERE delivery_id = $2 AND number = 1`, from, to)
			return err
		}))
		_, err := db.Outgoing(t.Context(), other.ID, model.Rehost)
		require.ErrorIs(t, err, errChanged)
		_, err = db.ListDocuments(t.Context(), other.ID)
		require.ErrorIs(t, err, errChanged)
		_, err = db.ListAttempts(t.Context(), to)
		require.ErrorIs(t, err, errChanged)
		requireParts(t, db, one, from, "")
	})
}
