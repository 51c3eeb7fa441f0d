package config_test

import (
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
)

// The latest configuration that is running is in force, in whatever order they end.
func TestInForce(t *testing.T) {
	t.Parallel()
	a, b, c := new(config.Config), new(config.Config), new(config.Config)
	var f config.InForce
	current := func(want *config.Config) {
		t.Helper()
		require.Same(t, want, f.Current())
	}
	require.Nil(t, f.Current())

	f.Push(a)
	current(a)
	f.Push(b)
	current(b)
	f.Drop(a) // a reload: the former goes
	current(b)
	f.Push(c)
	current(c)
	f.Drop(c) // a reload that failed: the new one goes
	current(b)
	f.Push(c)
	f.Push(a)
	f.Drop(c)
	current(a)
	f.Drop(c) // it is not there any more
	current(a)
	f.Drop(a)
	current(b)
	f.Drop(b)
	require.Nil(t, f.Current())
	f.Drop(b)
	require.Nil(t, f.Current())
}

// One configuration can be running twice: what it is pushed for is dropped one by one.
func TestInForceTwice(t *testing.T) {
	t.Parallel()
	a, b := new(config.Config), new(config.Config)
	var f config.InForce
	f.Push(a)
	f.Push(b)
	f.Push(a)
	f.Drop(a)
	require.NotNil(t, f.Current())
	f.Drop(b)
	require.Same(t, a, f.Current())
	f.Drop(a)
	require.Nil(t, f.Current())
}

func TestInForceOfManyAtOnce(t *testing.T) {
	t.Parallel()
	var f config.InForce
	base := new(config.Config)
	f.Push(base)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				c := &config.Config{PublicURL: "x"}
				f.Push(c)
				if f.Current() == nil {
					t.Error("nothing is in force though something runs")
				}
				f.Drop(c)
			}
		})
	}
	all.Wait()
	require.Same(t, base, f.Current())
}

func TestLookUp(t *testing.T) {
	t.Parallel()
	c := &config.Config{Tenants: map[string]*model.Tenant{"acme": {Name: "acme",
		Integrations: []model.Integration{{Name: "hris"}, {Name: "archive"}}}}}
	tenant, ok := c.Tenant("acme")
	require.True(t, ok)
	require.Equal(t, "acme", tenant.Name)
	i, ok := c.Integration("acme", "archive")
	require.True(t, ok)
	require.Same(t, &tenant.Integrations[1], i)
	for _, missing := range [][2]string{{"acme", "none"}, {"none", "hris"}, {"", ""}, {"Acme", "hris"}} {
		_, ok := c.Integration(missing[0], missing[1])
		require.False(t, ok, missing)
	}
	_, ok = c.Tenant("ACME")
	require.False(t, ok)
}

type stored []*model.Tenant

func (s stored) Tenant(name string) (*model.Tenant, bool) {
	for _, t := range s {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

func (s stored) All() iter.Seq[*model.Tenant] { return slices.Values(s) }

func TestDeclaredTenantsComeBeforeStoredOnes(t *testing.T) {
	t.Parallel()
	c := &config.Config{
		Tenants: map[string]*model.Tenant{"globex": {Name: "globex"}, "acme": {Name: "acme", Title: "declared"}},
		Stored: stored{{Name: "acme", Title: "stored"}, {Name: "initech",
			Integrations: []model.Integration{{Name: "hris"}}}},
	}
	acme, ok := c.Tenant("acme")
	require.True(t, ok)
	require.Equal(t, "declared", acme.Title)
	_, ok = c.Integration("initech", "hris")
	require.True(t, ok)
	_, ok = c.Tenant("umbrella")
	require.False(t, ok)
	var names []string
	for tenant := range c.All() {
		names = append(names, tenant.Name+tenant.Title)
	}
	require.Equal(t, []string{"acmedeclared", "globex", "initech"}, names)
}
