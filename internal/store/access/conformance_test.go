package access_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// table has the methods of a table of this package, which conform runs.
type table[T any] struct {
	of     func(id string) *T
	id     func(*T) string
	insert func(*store.Tx, *T) error
	get    func(db *store.DB, ctx context.Context, id string) (*T, error)
	list   func(*store.DB, context.Context, store.Page) ([]*T, string, error)
}

// TestTables runs the same list of checks against each table with ids.
func TestTables(t *testing.T) {
	t.Parallel()
	t.Run("users", table[identity.User]{
		of: func(id string) *identity.User {
			return &identity.User{ID: id, Email: id + "@example.com", EmailVerified: true, Name: "Ada Lovelace", GivenName: "Ada", FamilyName: "Lovelace", Password: "$x", CreatedAt: noon}
		},
		id:     func(u *identity.User) string { return u.ID },
		insert: func(tx *store.Tx, u *identity.User) error { return tx.InsertUser(u) },
		get:    func(db *store.DB, ctx context.Context, id string) (*identity.User, error) { return db.User(ctx, id) },
		list: func(db *store.DB, ctx context.Context, p store.Page) ([]*identity.User, string, error) {
			return db.ListUsers(ctx, p)
		},
	}.conform)
	t.Run("OAuth clients", table[identity.Client]{
		of: func(id string) *identity.Client {
			return &identity.Client{ID: id, Name: "App", RedirectURIs: []string{"https://app.example.com/cb"}, Algorithm: identity.RS256, Consent: true, CreatedAt: noon}
		},
		id:     func(c *identity.Client) string { return c.ID },
		insert: func(tx *store.Tx, c *identity.Client) error { return tx.InsertClient(c) },
		get: func(db *store.DB, ctx context.Context, id string) (*identity.Client, error) {
			return db.Client(ctx, id)
		},
		list: func(db *store.DB, ctx context.Context, p store.Page) ([]*identity.Client, string, error) {
			return db.ListClients(ctx, p)
		},
	}.conform)
	t.Run("API users", table[model.APIUser]{
		of: func(id string) *model.APIUser {
			return &model.APIUser{ID: id, Tenant: "acme", Name: id + "@example.com", Password: "$x", CreatedAt: noon}
		},
		id:     func(u *model.APIUser) string { return u.ID },
		insert: func(tx *store.Tx, u *model.APIUser) error { return tx.InsertAPIUser(u) },
		get: func(db *store.DB, ctx context.Context, id string) (*model.APIUser, error) {
			return db.APIUser(ctx, "acme", id)
		},
		list: func(db *store.DB, ctx context.Context, p store.Page) ([]*model.APIUser, string, error) {
			return db.ListAPIUsers(ctx, "acme", p)
		},
	}.conform)
	t.Run("API keys", table[model.APIKey]{
		of: func(id string) *model.APIKey {
			return &model.APIKey{ID: id, Label: "CI", Tenant: "acme", Role: model.Operator, CreatedAt: noon}
		},
		id:     func(k *model.APIKey) string { return k.ID },
		insert: func(tx *store.Tx, k *model.APIKey) error { return tx.InsertAPIKey(k, model.HashAPIKey(k.ID)) },
		get:    func(db *store.DB, ctx context.Context, id string) (*model.APIKey, error) { return db.APIKey(ctx, id) },
		list: func(db *store.DB, ctx context.Context, p store.Page) ([]*model.APIKey, string, error) {
			return db.ListAPIKeys(ctx, "acme", p)
		},
	}.conform)
}

func (r table[T]) conform(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		insert := func(v *T) error {
			return db.Write(t.Context(), func(tx *store.Tx) error { return r.insert(tx, v) })
		}
		var want []*T
		for _, id := range []string{"r-1", "r-2", "r-3", "r-4"} {
			_, err := r.get(db, t.Context(), id)
			require.ErrorIs(t, err, store.ErrNotFound)
			one := r.of(id)
			require.NoError(t, insert(one))
			want = append(want, one)
			got, err := r.get(db, t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, one, got)
		}
		require.Error(t, insert(r.of("r-2")), "an id was given twice")
		for _, id := range []string{"", "R-1", "r-1\x00"} {
			_, err := r.get(db, t.Context(), id)
			require.ErrorIs(t, err, store.ErrNotFound, id)
		}
		var all []*T
		for p := (store.Page{Limit: 3}); ; {
			page, next, err := r.list(db, t.Context(), p)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), 3)
			all = append(all, page...)
			if p.After = next; next == "" {
				break
			}
			require.Equal(t, r.id(page[len(page)-1]), next)
		}
		require.Equal(t, want, all)
	})
}
