package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/modeltest"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

func write(t *testing.T, db *store.DB, fn func(*store.Tx) error) {
	t.Helper()
	require.NoError(t, db.Write(t.Context(), fn))
}

func candidate(tenant, id string) *model.Candidate {
	return &model.Candidate{
		Row: model.Row{Tenant: tenant}, ID: id, AlternateIDs: []string{"184467"},
		Name: model.Name{Formatted: "Zoë Ødegård", Given: "Zoë", Family: "Ødegård"}, CitizenShip: []string{"any employer"}, ApplyDate: "2026-10-02",
		Address: []model.Address{{Subdivisions: []model.Subdivision{{Type: "state", Value: "OR"}}, City: "Portland"}},
		Email:   []string{"Zoe@Example.org"}, CustomFields: []model.CustomField{{ID: "cf-1", Name: "shift", Type: "text", Value: "Night"}},
	}
}

func TestCandidateIsFoundByAddress(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		c := candidate("initech", "c-1")
		write(t, db, func(tx *store.Tx) error { return tx.UpsertCandidate(c, noon) })
		write(t, db, func(tx *store.Tx) error {
			for _, address := range []string{"zoe@example.org", " ZOE@EXAMPLE.ORG "} {
				found, ok, err := tx.LockCandidateByEmail("initech", address)
				require.NoError(t, err)
				require.True(t, ok, address)
				require.Equal(t, c, found)
			}
			_, ok, err := tx.LockCandidateByEmail("acme", "zoe@example.org")
			require.False(t, ok)
			return err
		})
	})
}

// Whoever copies an address along with a sign that nobody sees, or writes an accent as a character of its own, is the same
// person.
func TestCandidateIsFoundByAnAddressThatLooksTheSame(t *testing.T) {
	t.Parallel()
	const jorg, decomposed, invisible = "j\u00f6rg@example.org", "JO\u0308RG@example.org", "j\u00f6rg@example.org\u200b"
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for _, known := range []string{jorg, decomposed, invisible} {
			c := candidate("initech", "c-1")
			c.Email = []string{known}
			write(t, db, func(tx *store.Tx) error { return tx.UpsertCandidate(c, noon) })
			for _, asked := range []string{jorg, decomposed, invisible, "\ufeff" + jorg} {
				write(t, db, func(tx *store.Tx) error {
					found, ok, err := tx.LockCandidateByEmail("initech", asked)
					require.True(t, ok, "%q of %q", asked, known)
					require.Equal(t, c, found)
					return err
				})
				listed, _, err := db.ListCandidates(t.Context(), "initech", store.CandidateFilter{Email: asked}, store.Page{})
				require.NoError(t, err)
				require.Len(t, listed, 1, "%q of %q", asked, known)
			}
			write(t, db, func(tx *store.Tx) error { return tx.DeleteCandidate(c) })
		}
	})
}

// Addresses that differ in more than case are two people's, also where the index has one key for both; those that
// differ in case alone are one's.
func TestCandidatesAreToldApartByTheirWholeAddress(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		long := strings.Repeat("x", 1024)
		addresses := []string{"strauss@example.org", "strauß@example.org", "müller@example.org", long + "a@example.org", long + "b@example.org", "Ὀδυσσεύς@example.org"}
		write(t, db, func(tx *store.Tx) error {
			for n, address := range addresses {
				// Many of the same address come first by id, and fill a page.
				for i := range 60 {
					c := candidate("initech", fmt.Sprintf("c-%d-%02d", n, i))
					c.Email = []string{address}
					if err := tx.UpsertCandidate(c, noon); err != nil {
						return err
					}
				}
			}
			return nil
		})
		for n, address := range addresses {
			for _, written := range []string{address, " " + strings.ToUpper(address)} {
				found := ""
				write(t, db, func(tx *store.Tx) error {
					c, ok, err := tx.LockCandidateByEmail("initech", written)
					if ok {
						found = c.ID
					}
					return err
				})
				require.Equal(t, fmt.Sprintf("c-%d-00", n), found, written)
				listed, page := 0, store.Page{Limit: 40}
				for {
					all, next, err := db.ListCandidates(t.Context(), "initech", store.CandidateFilter{Email: written}, page)
					require.NoError(t, err)
					for _, c := range all {
						require.Equal(t, []string{address}, c.Email)
						listed++
					}
					if next == "" {
						break
					}
					page.After = next
				}
				require.Equal(t, 60, listed, written)
			}
		}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.UpsertCandidate(&model.Candidate{Row: model.Row{Tenant: "initech"}, ID: "nobody's"}, noon); err != nil {
				return err
			}
			if _, ok, err := tx.LockCandidateByEmail("initech", "STRASSE@example.org"); ok || err != nil {
				return fmt.Errorf("somebody else was found: %w", err)
			}
			if _, ok, err := tx.LockCandidateByEmail("initech", ""); ok || err != nil {
				return fmt.Errorf("somebody without an address was found: %w", err)
			}
			return nil
		})
	})
}

func TestJobIDIsUniqueInItsTenant(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		put := func(tenant, code, id string) error {
			return db.Write(t.Context(), func(tx *store.Tx) error {
				return tx.UpsertJob(&model.Job{Row: model.Row{Tenant: tenant}, BoardCode: code, ID: id}, noon)
			})
		}
		require.NoError(t, put("initech", "NURSE-1", "job-1"))
		require.ErrorIs(t, put("initech", "NURSE-2", "job-1"), store.ErrTaken)
		require.NoError(t, put("acme", "NURSE-2", "job-1"))
	})
}

func TestJobApplicationsAreFiltered(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		write(t, db, func(tx *store.Tx) error {
			for n := range 25 {
				a := &model.JobApplication{Row: model.Row{Tenant: "initech"}, ID: fmt.Sprintf("a-%02d", n), Candidate: fmt.Sprint("c-", n%2), Job: fmt.Sprint("J-", n%5),
					Status: model.Status{Step: fmt.Sprint("s-", n%3)}}
				if err := tx.UpsertJobApplication(a, noon); err != nil {
					return err
				}
			}
			return tx.UpsertJobApplication(&model.JobApplication{Row: model.Row{Tenant: "acme"}, ID: "a-00", Candidate: "c-0"}, noon)
		})
		list := func(f store.ApplicationFilter) (ids []string) {
			count, more, err := db.CountListed(t.Context(), "initech", f)
			require.NoError(t, err)
			require.False(t, more)
			for f.Order, f.Limit = store.OldestFirst, 4; ; {
				page, err := db.ListJobApplications(t.Context(), "initech", f)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page.Items), 4)
				for _, a := range page.Items {
					require.Equal(t, "initech", a.Tenant)
					ids = append(ids, a.ID)
				}
				if f.After = page.End; !page.More {
					require.EqualValues(t, len(ids), count)
					return ids
				}
			}
		}
		require.Len(t, list(store.ApplicationFilter{}), 25)
		require.Equal(t, []string{"a-03", "a-08", "a-13", "a-18", "a-23"}, list(store.ApplicationFilter{Job: "J-3"}))
		require.Len(t, list(store.ApplicationFilter{Candidate: "c-1"}), 12)
		require.Len(t, list(store.ApplicationFilter{Step: "s-0"}), 9)
		require.Equal(t, []string{"a-03"}, list(store.ApplicationFilter{Job: "J-3", Candidate: "c-1", Step: "s-0"}), "filters combine")
		write(t, db, func(tx *store.Tx) error {
			of, err := tx.ListJobApplicationsOf("initech", "c-1", 100)
			require.Len(t, of, 12)
			used, err2 := tx.IsJobUsed("initech", "J-4")
			require.NoError(t, err2)
			require.True(t, used)
			used, err2 = tx.IsJobUsed("initech", "J-5")
			require.NoError(t, err2)
			require.False(t, used)
			return err
		})
	})
}

// A page of large resources ends early, and the next one begins behind it.
func TestAPageOfLargeResourcesEndsEarly(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		const jobs, large = 5, 3 << 20
		for n := range jobs {
			write(t, db, func(tx *store.Tx) error {
				return tx.UpsertJob(&model.Job{Row: model.Row{Tenant: "initech"}, BoardCode: fmt.Sprint("J-", n), ID: fmt.Sprint("j-", n), Title: strings.Repeat("x", large), Syndicate: true}, noon)
			})
		}
		walk := func(list func(p store.Page) (codes []string, next string)) {
			var all []string
			for p := (store.Page{Limit: store.MaxPage}); ; {
				codes, next := list(p)
				require.NotEmpty(t, codes)
				require.LessOrEqual(t, len(codes), 3, "a page has far more than 8 MiB")
				all = append(all, codes...)
				if next == "" {
					break
				}
				p.After = next
			}
			require.Equal(t, []string{"J-0", "J-1", "J-2", "J-3", "J-4"}, all)
		}
		walk(func(p store.Page) (codes []string, next string) {
			page, next, err := db.ListJobs(t.Context(), "initech", store.JobFilter{}, p)
			require.NoError(t, err)
			for _, j := range page {
				codes = append(codes, j.BoardCode)
			}
			return codes, next
		})
		walk(func(p store.Page) (codes []string, next string) {
			page, next, err := db.ListFeedJobs(t.Context(), "initech", p)
			require.NoError(t, err)
			for _, j := range page {
				codes = append(codes, j.BoardCode)
			}
			return codes, next
		})
	})
}

func TestTransitionsAndDocumentsOfAnApplication(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		for n := range 5 {
			write(t, db, func(tx *store.Tx) error {
				added, err := tx.InsertApplicationDocument(&model.ApplicationDocument{
					Key: int64(n + 1), Tenant: "initech", Application: "a-1", ID: fmt.Sprint("doc-", n), Descriptions: []string{"Resume", "Ünï"}, FileName: "r.pdf",
					MediaType: "application/pdf", Blob: "blob", SHA256: []byte{1}, Size: 7, CreatedAt: noon,
				})
				require.True(t, added)
				if err != nil {
					return err
				}
				return tx.InsertTransition(&model.Transition{ID: int64(n + 1), Tenant: "initech", Application: "a-1",
					Status: model.Status{Step: fmt.Sprint("s-", n), Name: "Offer", Category: "Hired", EnteredAt: noon}, Export: "u-1"})
			})
		}
		write(t, db, func(tx *store.Tx) error {
			added, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: 9, Tenant: "initech", Application: "a-1", ID: "doc-1", SHA256: []byte{1}, CreatedAt: noon})
			require.False(t, added, "an id was given twice")
			return err
		})
		others := [][2]string{{"globex", "a-1"}, {"initech", "a-2"}}
		for n, of := range others {
			write(t, db, func(tx *store.Tx) error {
				_, err := tx.InsertApplicationDocument(&model.ApplicationDocument{Key: int64(20 + n), Tenant: of[0], Application: of[1], ID: "doc-1", Blob: "blob", SHA256: []byte{1}, CreatedAt: noon})
				return errors.Join(err, tx.InsertTransition(&model.Transition{ID: int64(20 + n), Tenant: of[0], Application: of[1], Status: model.Status{Step: "other", EnteredAt: noon}}))
			})
		}
		page, next, err := db.ListTransitions(t.Context(), "initech", "a-1", 0, 3)
		require.NoError(t, err)
		require.Equal(t, []string{"s-4", "s-3", "s-2"}, []string{page[0].Status.Step, page[1].Status.Step, page[2].Status.Step})
		page, next, err = db.ListTransitions(t.Context(), "initech", "a-1", next, 3)
		require.NoError(t, err)
		require.Zero(t, next)
		require.Len(t, page, 2)
		require.Equal(t, model.Transition{ID: 1, Tenant: "initech", Application: "a-1", Status: model.Status{Step: "s-0", Name: "Offer", Category: "Hired", EnteredAt: noon}, Export: "u-1"}, page[1])

		docs, after, err := db.ListApplicationDocuments(t.Context(), "initech", "a-1", 0, 2)
		require.NoError(t, err)
		require.Equal(t, []string{"Resume", "Ünï"}, docs[0].Descriptions)
		docs, after, err = db.ListApplicationDocuments(t.Context(), "initech", "a-1", after, 3)
		require.NoError(t, err)
		require.Zero(t, after)
		require.Len(t, docs, 3)
		_, err = db.ApplicationDocument(t.Context(), "acme", "a-1", "doc-1")
		require.ErrorIs(t, err, store.ErrNotFound)
		got, err := db.ApplicationDocument(t.Context(), "initech", "a-1", "doc-1")
		require.NoError(t, err)
		require.Equal(t, int64(7), got.Size)

		e := export("initech", "u-1", "b")
		require.True(t, insert(t, db, e))
		hash := [32]byte{1, 2}
		write(t, db, func(tx *store.Tx) error { return tx.InsertOfferedDocument(got, e, 0, hash) })
		offeredState, till, err := db.DocumentByLink(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, e.DocumentsTill, till)
		require.Equal(t, model.Fetched, offeredState.State)
		require.Equal(t, "application/pdf", offeredState.MediaType())
		write(t, db, func(tx *store.Tx) error {
			deleted, err := tx.DeleteApplicationDocument("initech", "a-1", "doc-1", noon)
			require.True(t, deleted)
			return err
		})
		_, _, err = db.DocumentByLink(t.Context(), hash)
		require.NoError(t, err, "an export lost a document that it offers")

		write(t, db, func(tx *store.Tx) error {
			return tx.ClearJobApplication(&model.JobApplication{ID: "a-1", Row: model.Row{Tenant: "initech"}}, noon)
		})
		page, _, err = db.ListTransitions(t.Context(), "initech", "a-1", 0, 3)
		require.NoError(t, err)
		require.Empty(t, page)
		for _, of := range others {
			page, _, err = db.ListTransitions(t.Context(), of[0], of[1], 0, 3)
			require.NoError(t, err)
			require.Len(t, page, 1, "another's history went along")
			_, err = db.ApplicationDocument(t.Context(), of[0], of[1], "doc-1")
			require.NoError(t, err, "another's document went along")
		}
	})
}

func TestDirectoryHoldsTenantsWithTheirIntegrations(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		before, err := db.DirectoryVersion(t.Context())
		require.NoError(t, err)
		acme := &model.Tenant{Name: "acme", Title: "Acme", Zone: "Europe/Berlin", Labels: model.Labels{"region": "north", "tier": "gold"}, Secrets: []model.Secret{"one", "two"}, Quarantine: true,
			Deviations: model.RefuseDeviations, Rate: &model.Rate{PerSecond: 2.5, Burst: 7}}
		hris := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in/1", Secret: "s", Verify: true,
			Options: modeltest.Options()}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.UpsertTenant(acme, noon); err != nil {
				return err
			}
			return tx.UpsertIntegration(hris, noon)
		})
		for n := range store.MaxPage + 1 { // more than a page
			write(t, db, func(tx *store.Tx) error { return tx.UpsertTenant(&model.Tenant{Name: fmt.Sprintf("b-%04d", n)}, noon) })
		}
		after, err := db.DirectoryVersion(t.Context())
		require.NoError(t, err)
		require.Greater(t, after, before)
		all, err := db.ListTenants(t.Context())
		require.NoError(t, err)
		require.Len(t, all, store.MaxPage+2)
		got := all[0]
		require.Equal(t, []string{"one", "two"}, got.SigningKeys())
		require.Equal(t, acme.Rate, got.Rate)
		require.True(t, got.Quarantine)
		require.Equal(t, model.RefuseDeviations, got.Deviations)
		require.Len(t, got.Integrations, 1)
		hris.Row.Tenant = "acme"
		require.Equal(t, *hris, got.Integrations[0])

		require.ErrorIs(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertTenant(&model.Tenant{Name: "acme"}, noon) }), store.ErrStale)
		removed := func(v *model.Tenant) error {
			return db.Write(t.Context(), func(tx *store.Tx) error { return tx.DeleteTenant(v) })
		}
		require.ErrorIs(t, removed(acme), store.ErrStale, "it has an integration now")
		later := noon.Add(time.Minute)
		write(t, db, func(tx *store.Tx) error { return tx.DeleteIntegration(hris, later) })
		require.ErrorIs(t, removed(got), store.ErrStale, "it has none now")
		all, err = db.ListTenants(t.Context())
		require.NoError(t, err)
		require.Equal(t, model.Row{Tenant: "acme", Version: 3, CreatedAt: noon, UpdatedAt: later}, all[0].Row)
		require.NoError(t, removed(all[0]))
		require.ErrorIs(t, db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.UpsertIntegration(&model.Integration{Tenant: "acme", Name: "crm"}, noon)
		}), store.ErrStale, "an integration of a tenant that is gone")
		all, err = db.ListTenants(t.Context())
		require.NoError(t, err)
		require.Len(t, all, store.MaxPage+1)

		anew, again := *acme, *hris
		anew.Row, again.Row = model.Row{}, model.Row{}
		write(t, db, func(tx *store.Tx) error {
			if err := tx.UpsertTenant(&anew, noon.Add(time.Hour)); err != nil {
				return err
			}
			return tx.UpsertIntegration(&again, noon.Add(time.Hour))
		})
		acme.Row.Version = 2 // as the new one's, for its integration
		for what, stale := range map[string]func(*store.Tx) error{
			"tenant put": func(tx *store.Tx) error { return tx.UpsertTenant(acme, noon) }, "tenant deleted": func(tx *store.Tx) error { return tx.DeleteTenant(acme) },
			"integration put": func(tx *store.Tx) error { return tx.UpsertIntegration(hris, noon) }, "integration deleted": func(tx *store.Tx) error { return tx.DeleteIntegration(hris, noon) },
		} {
			require.ErrorIs(t, db.Write(t.Context(), stale), store.ErrStale, "%s, though it was made anew", what)
		}
	})
}
