package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

// damage changes what is stored.
func damage(t *testing.T, db *DB, statement string, args ...any) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.sql.RunOr(ErrNotFound, statement, args...) }))
}

// A public URL leads to the document that it was made for, or nowhere; a document belongs to its export, or to none.
func TestDamagedAddressesLeadNowhere(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		one, other := putExport(t, db, keptExport("u-1")), putExport(t, db, keptExport("u-2"))
		hashes := map[int64][32]byte{one.ID: {1}, other.ID: {2}}
		documents := map[int64]int64{}
		for _, e := range []*model.Export{one, other} {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				return tx.InsertDocument(model.Document{ExportID: e.ID, Tenant: e.Tenant, SourceURL: []byte("x"), CreatedAt: secretsNoon})
			}))
			docs, err := db.ListDocuments(t.Context(), e.ID)
			require.NoError(t, err)
			documents[e.ID] = docs[0].ID
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				return tx.InsertLink(hashes[e.ID], docs[0].ID, secretsNoon.Add(time.Hour))
			}))
			d, _, err := db.DocumentByLink(t.Context(), hashes[e.ID])
			require.NoError(t, err)
			require.Equal(t, e.ID, d.ExportID)
		}
		hash := hashes[one.ID]
		const point = `UPDATE document_links SET document_id = $1 WHERE hash = $2`
		damage(t, db, point, documents[other.ID], hash[:])
		_, _, err = db.DocumentByLink(t.Context(), hash)
		require.ErrorIs(t, err, ErrUnreadable)
		damage(t, db, point, documents[one.ID], hash[:])

		damage(t, db, `UPDATE documents SET export_id = $1, position = 7 WHERE id = $2`, other.ID, documents[one.ID])
		_, _, err = db.DocumentByLink(t.Context(), hash)
		require.ErrorIs(t, err, ErrUnreadable)
		_, err = db.ListDocuments(t.Context(), other.ID)
		require.ErrorIs(t, err, ErrUnreadable)
	})
}

// An integration whose address, secret or credentials were damaged has none of them, and gets nothing until it is saved
// again; the others of its tenant go on. A row from before there were checksums is as good as any.
func TestDamagedIntegrationHasNoAddress(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		saved := map[string]*model.Integration{}
		for _, name := range []string{"damaged", "good"} {
			saved[name] = &model.Integration{Tenant: "acme", Name: name, URL: "https://hr.example/in/" + name, Secret: "s",
				Options: model.Options{Documents: model.Rehost}, Verify: true,
				Authentication: &model.Authentication{Bearer: "k"}}
		}
		save := func(i *model.Integration) {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
				if err := tx.UpsertIntegration(i, secretsNoon); err != nil {
					return err
				}
				return tx.UpsertIntegrationStatus(i, IntegrationStatus{State: model.Configured, UpdatedAt: secretsNoon})
			}))
		}
		require.NoError(t, db.Write(t.Context(), func(tx *Tx) error {
			return tx.UpsertTenant(&model.Tenant{Name: "acme"}, secretsNoon)
		}))
		for _, i := range saved {
			save(i)
		}
		read := func(name string) (*model.Integration, IntegrationStatus) {
			all, err := db.ListTenants(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 1)
			i, ok := all[0].Integration(name)
			require.True(t, ok)
			status, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			return i, status
		}
		for column, to := range map[string]string{
			"url": "\x01https://hr.example/in/acme", "secret": "\x01t", "authentication": "\x01{",
			"former_secret": "\x09", "checksum": "another",
		} {
			damage(t, db, `UPDATE integrations SET `+column+` = $1 WHERE name = 'damaged'`, []byte(to))
			i, status := read("damaged")
			require.True(t, i.Damaged, column)
			require.Equal(t, []any{"", model.Secret(""), model.Secret(""), (*model.Authentication)(nil)},
				[]any{i.URL, i.Secret, i.FormerSecret, i.Authentication}, column)
			require.False(t, status.Deliverable(i), column)
			require.Equal(t, DamagedReason, status.Reason)
			i, status = read("good")
			require.False(t, i.Damaged)
			require.True(t, status.Deliverable(i))

			save(saved["damaged"])
			i, status = read("damaged")
			require.False(t, i.Damaged, "it was saved again")
			require.True(t, status.Deliverable(i))
		}
		damage(t, db, `UPDATE integrations SET checksum = NULL WHERE name = 'damaged'`)
		i, _ := read("damaged")
		require.Equal(t, saved["damaged"].URL, i.URL)
	})
}

// A submission is sent for the job that it was stored for, and with its own content, or not at all. One from before there
// were checksums is as good as any.
func TestDamagedSubmissionIsUnreadable(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		p := putPerson(t, db, personOf("c-1", 1))
		read := func(change func(*model.Submission)) error {
			s := *p.submission
			change(&s)
			_, err := db.SubmissionContent(t.Context(), &s)
			return err
		}
		require.NoError(t, read(func(*model.Submission) {}))
		require.ErrorIs(t, read(func(s *model.Submission) { s.Job = "NURSE-3" }), ErrUnreadable)
		require.ErrorIs(t, read(func(s *model.Submission) { s.Tenant = "acmd" }), ErrUnreadable)
		const write = `UPDATE submissions SET content = $1`
		former := wrapBody([]byte(`{"key":"k","answers":[]}`))
		damage(t, db, write, former)
		require.NoError(t, read(func(*model.Submission) {}))
		former[2] ^= 1
		damage(t, db, write, former)
		require.ErrorIs(t, read(func(*model.Submission) {}), ErrUnreadable)
	})
}

// A tenant whose upstream was damaged is relayed to nobody, and not taken for one that is not relayed; saved meanwhile, it
// stays so.
func TestDamagedUpstreamHasNoAddress(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, address string) {
		db, err := Open(t.Context(), address, Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		write := func(tenant *model.Tenant) {
			require.NoError(t, db.Write(t.Context(), func(tx *Tx) error { return tx.UpsertTenant(tenant, secretsNoon) }))
		}
		write(&model.Tenant{Name: "acme", ApplyUpstream: secretUpstream("acme")})
		read := func() *model.Tenant {
			all, err := db.ListTenants(t.Context())
			require.NoError(t, err)
			return all[0]
		}
		require.Equal(t, secretUpstream("acme"), read().ApplyUpstream)
		damage(t, db, `UPDATE tenants SET apply_upstream = $1`, wrapBody([]byte(`{"URL":"https://hr.example.org/apply"}`)))
		require.True(t, read().ApplyUpstream.Damaged())
		write(read())
		require.True(t, read().ApplyUpstream.Damaged())
	})
}
