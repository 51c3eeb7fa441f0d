package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// An answer counts for the setting that was asked, as long as that is where it was.
func TestAnswersMoveOnlyWhatWasAsked(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		former := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/former", Secret: "s"}
		present := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/present", Secret: "s"}
		state := func(s model.IntegrationState) store.IntegrationStatus {
			return store.IntegrationStatus{State: s, UpdatedAt: noon}
		}
		read := func(i *model.Integration) store.IntegrationStatus {
			s, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			return s
		}
		put := func(i *model.Integration, s model.IntegrationState) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertIntegrationStatus(i, state(s)) }))
		}
		move := func(i *model.Integration, from store.IntegrationStatus, to model.IntegrationState) (moved bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				moved, err = tx.UpdateIntegrationStatus(i, from, state(to))
				return err
			}))
			return moved
		}
		unknown := read(former)
		require.True(t, move(former, unknown, model.Configured))
		require.False(t, move(former, unknown, model.Disabled), "it was asked before anything was known of it")

		before, asked := read(former), read(present)
		require.True(t, move(present, asked, model.Configured), "the setting that is new was not taken")
		require.False(t, move(former, before, model.Disabled), "a late answer was taken for one of the new setting")
		require.Equal(t, model.Configured, read(present).State)

		asked = read(present)
		put(present, model.Removed)
		require.False(t, move(present, asked, model.Disabled))
		removed, err := db.IsIntegrationRemoved(t.Context(), "acme", "hris")
		require.NoError(t, err)
		require.True(t, removed)
		stored := *present
		stored.Row.Version = 1
		require.Equal(t, model.Removed, read(&stored).State, "a node that still has it would have it verified")
		declared := read(present)
		require.Equal(t, model.NotConfigured, declared.State, "what was removed can be declared again, with the same setting")
		statuses, err := db.ListIntegrationStatuses(t.Context())
		require.NoError(t, err)
		require.Equal(t, declared, statuses.Of(present))
		require.True(t, move(present, declared, model.Configured))
		require.False(t, move(present, declared, model.Disabled))

		put(present, model.Removed)
		require.True(t, move(former, read(former), model.Configured), "what was removed can be declared again, with another setting")
	})
}

// What an operator disabled stays so, whatever its partner answers meanwhile and whatever setting it is given; not so
// what its partner disabled.
func TestDisabledByAnOperatorStays(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		i := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "s"}
		other := *i
		other.URL = "https://hr.example/other"
		read := func(i *model.Integration) store.IntegrationStatus {
			s, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			return s
		}
		put := func(s store.IntegrationStatus) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertIntegrationStatus(i, s) }))
		}
		update := func(from, to store.IntegrationStatus) (moved bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				moved, err = tx.UpdateIntegrationStatus(i, from, to)
				return err
			}))
			return moved
		}
		byPartner := store.IntegrationStatus{State: model.Disabled, Reason: "it answered 410", UpdatedAt: noon}
		byOperator := store.IntegrationStatus{State: model.Disabled, Reason: "an operator disabled it", UpdatedAt: noon,
			ByOperator: true}
		enabled := store.IntegrationStatus{State: model.NotConfigured, UpdatedAt: noon}

		asked := read(i)
		put(byOperator)
		require.False(t, update(asked, store.IntegrationStatus{State: model.Configured, UpdatedAt: noon}),
			"a verification that was under way enabled it")
		require.True(t, read(&other).ByOperator, "another setting enabled it")
		require.False(t, read(&other).Deliverable(&other))
		statuses, err := db.ListIntegrationStatuses(t.Context())
		require.NoError(t, err)
		require.Equal(t, read(&other), statuses.Of(&other))

		put(byPartner)
		require.Equal(t, model.NotConfigured, read(&other).State)
		asked = read(i)
		put(byOperator)
		require.False(t, update(asked, enabled), "whoever enabled what the partner had disabled did not mean this")
		require.True(t, update(read(i), enabled))
		require.False(t, read(i).ByOperator)
		require.Equal(t, model.NotConfigured, read(i).State)
	})
}

// While the secret of an integration is changed, the former one keeps exports going for as long as it is configured,
// also when VERIFY fails with the new one, and wherever the change is taken back.
func TestFormerSecretKeepsExportsGoing(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		before := &model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "old",
			Verify: true}
		during, after, elsewhere := *before, *before, *before
		during.Secret, during.FormerSecret = "new", "old"
		after.Secret = "new"
		elsewhere.Secret, elsewhere.FormerSecret, elsewhere.URL = "new", "old", "https://hr.example/other"
		read := func(i *model.Integration) store.IntegrationStatus {
			s, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			all, err := db.ListIntegrationStatuses(t.Context())
			require.NoError(t, err)
			require.Equal(t, s, all.Of(i))
			return s
		}
		answer := func(i *model.Integration, state model.IntegrationState, reason string) {
			asked := read(i)
			next := asked
			next.State, next.Reason, next.Attempts, next.UpdatedAt = state, reason, asked.Attempts+1, noon
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
				moved, err := tx.UpdateIntegrationStatus(i, asked, next)
				require.True(t, moved)
				return err
			}))
		}
		require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error {
			return tx.UpsertIntegrationStatus(before,
				store.IntegrationStatus{State: model.NotConfigured, UpdatedAt: noon})
		}))
		require.False(t, read(&during).Deliverable(&during), "the former secret was never verified")
		answer(before, model.Configured, "")

		for attempts := range 3 {
			s := read(&during)
			require.Equal(t, []any{model.NotConfigured, true, attempts}, []any{s.State, s.ByFormer, s.Attempts})
			require.True(t, s.Deliverable(&during))
			answer(&during, model.NotConfigured, "VERIFY was answered 401; it must be exactly 200")
		}
		require.False(t, read(&after).Deliverable(&after), "the former secret is not configured any more")
		require.False(t, read(&elsewhere).Deliverable(&elsewhere), "another address was never verified")
		require.Equal(t, model.Configured, read(before).State, "taken back, or not begun on this node")

		answer(&during, model.Configured, "")
		for _, i := range []*model.Integration{before, &during, &after} {
			s := read(i)
			require.Equal(t, []any{model.Configured, false}, []any{s.State, s.ByFormer})
		}
		answer(&after, model.Disabled, "it answered 410")
		require.Equal(t, model.Disabled, read(&during).State)
		require.False(t, read(before).Deliverable(before))
	})
}
