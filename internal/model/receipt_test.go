package model_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestIDsRiseAndAreNeverGivenTwice(t *testing.T) {
	t.Parallel()
	const givers, each = 8, 1000
	ids := make(chan int64, givers*each)
	var group sync.WaitGroup
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for range givers {
		group.Go(func() {
			last := int64(0)
			for range each {
				id := model.NewID(now) // the clock stands still
				assert.Greater(t, id, last)
				last = id
				ids <- id
			}
		})
	}
	group.Wait()
	close(ids)
	seen := map[int64]bool{}
	for id := range ids {
		require.False(t, seen[id])
		seen[id] = true
	}
	earlier := model.NewID(now)
	require.Greater(t, model.NewID(now.Add(time.Hour)), earlier)
}

func TestReceiptLeadsToItsExport(t *testing.T) {
	t.Parallel()
	one, other := model.NewReceipt(42), model.NewReceipt(42)
	require.NotEqual(t, one, other, "a receipt can be guessed")
	id, ok := model.ParseReceipt(one)
	require.True(t, ok)
	require.Equal(t, int64(42), id)
	for _, bad := range []string{"", "a", one[1:], one + "a", "receipts", "A" + one[1:]} {
		_, ok := model.ParseReceipt(bad)
		require.False(t, ok, bad)
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	i := model.Integration{Tenant: "acme", Name: "hris", URL: "https://hr.example/in", Secret: "hunter2"}
	setting := i.Setting()
	require.NotContains(t, i.Secret.String()+i.Secret.GoString(), "hunter2")
	for _, change := range []func(){func() { i.Secret = "hunter3" }, func() { i.URL += "x" }, func() { i.Name = "hri" },
		func() { i.Tenant = "acm" }} {
		before := i
		change()
		require.NotEqual(t, setting, i.Setting())
		i = before
	}
}

func TestSecretsOfAnIntegrationAreValidated(t *testing.T) {
	t.Parallel()
	i := model.Integration{Name: "hris", URL: "https://hr.example/in", Secret: "new",
		Options: model.Options{InFlight: 1, Documents: model.Rehost}}
	require.NoError(t, i.Validate())
	i.FormerSecret = "old"
	require.NoError(t, i.Validate())
	i.FormerSecret = "new"
	require.ErrorContains(t, i.Validate(), "the former secret is the secret itself")
	i.FormerSecret = model.Secret(strings.Repeat("s", 4<<10+1))
	require.ErrorContains(t, i.Validate(), "longer than 4096 bytes")
}
