package access_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest/tables"
)

// Anybody may have an authorization request refused: the rows are counted and bounded, and nobody pushes out those of a
// known client but whoever knows it.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	tables.Each(t, func(t *testing.T, db *store.DB) {
		count := func(client string, known bool, uri string, at time.Time) {
			write(t, db, func(tx *store.Tx) error {
				return tx.CountRefusal(identity.NewRefusal(client, known, identity.RedirectURIDiffers, uri, at))
			})
		}
		count("app", true, "https://app.example/a", noon)
		count("app", true, "https://app.example/a?person=ada", noon.Add(time.Second))
		count("app", true, "https://app.example/a", noon.Add(time.Minute))
		list := func(client string) []identity.Refusal {
			all, err := db.ListRefusals(t.Context(), client)
			require.NoError(t, err)
			for n := range all {
				all[n].ID = 0
			}
			return all
		}
		want := []identity.Refusal{
			{Client: "app", Known: true, Reason: identity.RedirectURIDiffers, RedirectURI: "https://app.example/a",
				Count: 2, FirstAt: noon, LastAt: noon.Add(time.Minute)},
			{Client: "app", Known: true, Reason: identity.RedirectURIDiffers, RedirectURI: "https://app.example/a?...",
				Count: 1, FirstAt: noon.Add(time.Second), LastAt: noon.Add(time.Second)},
		}
		require.Equal(t, want, list("app"))
		for n := range 60 {
			count(fmt.Sprint("guess-", n), false, "", noon.Add(time.Hour+time.Duration(n)*time.Second))
		}
		all := list("")
		require.Len(t, all, 52)
		require.Equal(t, "guess-59", all[0].Client)
		require.Equal(t, "guess-10", all[49].Client)
		require.Equal(t, want, list("app"))
		count("app", true, "https://app.example/b", noon.AddDate(0, 0, 91))
		require.Len(t, list("app"), 1, "a refusal is kept for 90 days")
	})
}
