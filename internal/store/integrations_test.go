package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
)

// An answer counts for the setting that was asked, as long as that is where it was.
func TestAnswersMoveOnlyWhatWasAsked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *store.DB) {
		former := &hiring.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/former", Secret: "s"}
		present := &hiring.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/present", Secret: "s"}
		state := func(s hiring.IntegrationState) store.IntegrationStatus {
			return store.IntegrationStatus{State: s, UpdatedAt: noon}
		}
		read := func(i *hiring.Integration) store.IntegrationStatus {
			s, err := db.IntegrationStatus(t.Context(), i)
			require.NoError(t, err)
			return s
		}
		put := func(i *hiring.Integration, s hiring.IntegrationState) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) error { return tx.UpsertIntegrationStatus(i, state(s)) }))
		}
		move := func(i *hiring.Integration, from store.IntegrationStatus, to hiring.IntegrationState) (moved bool) {
			require.NoError(t, db.Write(t.Context(), func(tx *store.Tx) (err error) {
				moved, err = tx.UpdateIntegrationStatus(i, from, state(to))
				return err
			}))
			return moved
		}
		unknown := read(former)
		require.True(t, move(former, unknown, hiring.Configured))
		require.False(t, move(former, unknown, hiring.Disabled), "it was asked before anything was known of it")

		before, asked := read(former), read(present)
		require.True(t, move(present, asked, hiring.Configured), "the setting that is new was not taken")
		require.False(t, move(former, before, hiring.Disabled), "a late answer was taken for one of the new setting")
		require.Equal(t, hiring.Configured, read(present).State)

		asked = read(present)
		put(present, hiring.Removed)
		require.False(t, move(present, asked, hiring.Disabled))
		removed, err := db.IsIntegrationRemoved(t.Context(), "acme", "hris")
		require.NoError(t, err)
		require.True(t, removed)
		stored := *present
		stored.Row.Version = 1
		require.Equal(t, hiring.Removed, read(&stored).State, "a node that still has it would have it verified")
		declared := read(present)
		require.Equal(t, hiring.NotConfigured, declared.State, "what was removed can be declared again, with the same setting")
		statuses, err := db.ListIntegrationStatuses(t.Context())
		require.NoError(t, err)
		require.Equal(t, declared, statuses.Of(present))
		require.True(t, move(present, declared, hiring.Configured))
		require.False(t, move(present, declared, hiring.Disabled))

		put(present, hiring.Removed)
		require.True(t, move(former, read(former), hiring.Configured), "what was removed can be declared again, with another setting")
	})
}
