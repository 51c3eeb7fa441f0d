package vault_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/vault"
)

const (
	former = "a text of more than thirty-two characters"
	newest = "another text of more than thirty-two characters"
	third  = "a third text of more than thirty-two characters"
)

func of(t *testing.T, texts ...string) *vault.Vault {
	t.Helper()
	v, err := vault.New(texts...)
	require.NoError(t, err)
	return v
}

// What earlier versions sealed opens for good.
func TestWhatWasSealedOpens(t *testing.T) {
	t.Parallel()
	sealed, err := base64.StdEncoding.DecodeString("Kj3tU3Jkbxmt9EJI6cemVAWCAeUaONrXldH/QSJPAsJbQJI=")
	require.NoError(t, err)
	plain, err := of(t, former).Open("hiregate signing keys", "acme", sealed)
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(plain))
}

// What earlier versions hashed is found for good, by whoever has the text.
func TestHash(t *testing.T) {
	t.Parallel()
	hash := func(v *vault.Vault, purpose string, words ...string) string {
		sum, err := v.Hash(purpose, words...)
		require.NoError(t, err)
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	first := hash(of(t, former), "search", "acme", "email", "zoe@example.org")
	require.Equal(t, "c96DNa8yhgdDWe1bmDs+53rHEndpNXuaqG0+NnBYMAY=", first)
	require.Equal(t, first, hash(of(t, former, newest), "search", "acme", "email", "zoe@example.org"))
	require.NotEqual(t, first, hash(of(t, newest, former), "search", "acme", "email", "zoe@example.org"))
	require.NotEqual(t, first, hash(of(t, former), "others", "acme", "email", "zoe@example.org"))
	require.NotEqual(t, first, hash(of(t, former), "search", "acme", "emailzoe@example.org"))
}

func TestVault(t *testing.T) {
	t.Parallel()
	sealed, err := of(t, former).Seal("things", "acme", []byte("hunter2"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "hunter2")
	again, err := of(t, former).Seal("things", "acme", []byte("hunter2"))
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "who has two can tell that they are the same")

	both := of(t, newest, former)
	plain, err := both.Open("things", "acme", sealed)
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(plain))
	broken := append([]byte{}, sealed...)
	broken[len(broken)-1]++
	for _, one := range []struct {
		v              *vault.Vault
		purpose, owner string
		sealed         []byte
	}{
		{both, "others", "acme", sealed}, {both, "things", "globex", sealed}, {both, "things", "acme", broken},
		{both, "things", "acme", nil},
		{both.Newest(), "things", "acme", sealed}, {of(t, newest, third), "things", "acme", sealed},
		{new(vault.Vault), "things", "acme", sealed},
	} {
		_, err := one.v.Open(one.purpose, one.owner, one.sealed)
		require.ErrorIs(t, err, vault.ErrSealed)
	}

	sealed, err = both.Seal("things", "acme", []byte("hunter3"))
	require.NoError(t, err)
	_, err = both.Newest().Open("things", "acme", sealed)
	require.NoError(t, err, "it is not the first one that seals")

	_, err = new(vault.Vault).Seal("things", "acme", nil)
	require.Error(t, err)
	require.True(t, both.Covers(of(t, former)) && both.Covers(new(vault.Vault)) && both.Covers(both))
	require.False(t, of(t, former).Covers(both))
}

// During a reload there are two configurations, of which either may be the one that is left.
func TestSharedSealsForAll(t *testing.T) {
	t.Parallel()
	none := func() *vault.Vault { return new(vault.Vault) }
	for _, one := range []struct {
		name   string
		all    []*vault.Vault
		sealed bool
	}{
		{"nobody", nil, false},
		{"no key", []*vault.Vault{none()}, false},
		{"a key", []*vault.Vault{of(t, former)}, true},
		{"a reload that adds the key", []*vault.Vault{none(), of(t, newest)}, false},
		{"one that removes it", []*vault.Vault{of(t, former), none()}, false},
		{"one that changes nothing", []*vault.Vault{of(t, former), of(t, former)}, true},
		{"a new one in front", []*vault.Vault{of(t, former), of(t, newest, former)}, true},
		{"the former one removed", []*vault.Vault{of(t, newest, former), of(t, newest)}, true},
		{"another key", []*vault.Vault{of(t, former), of(t, newest)}, false},
		{"three", []*vault.Vault{of(t, former), of(t, newest, former), of(t, third, former)}, true},
	} {
		var s vault.Shared
		for _, v := range one.all {
			s.Add(v)
		}
		sealed, err := s.Seal("things", "acme", []byte("hunter2"))
		require.NoError(t, err, one.name)
		require.Equal(t, one.sealed, sealed != nil, one.name)
		for _, v := range one.all {
			if sealed != nil {
				plain, err := v.Open("things", "acme", sealed)
				require.NoError(t, err, one.name)
				require.Equal(t, "hunter2", string(plain))
			}
			if v.HasKey() {
				own, err := v.Seal("things", "acme", []byte("own"))
				require.NoError(t, err)
				plain, err := s.Open("things", "acme", own)
				require.NoError(t, err, "%s: what one of them sealed can't be read", one.name)
				require.Equal(t, "own", string(plain))
			}
		}
	}
}

func TestSharedSettles(t *testing.T) {
	t.Parallel()
	var s vault.Shared
	v, _ := s.Sole()
	require.Nil(t, v)
	old, next := of(t, former), of(t, newest, former)
	s.Add(old)
	v, before := s.Sole()
	require.Same(t, old, v)
	s.Add(next)
	v, _ = s.Sole()
	require.Nil(t, v, "one of two may fail yet")
	s.Remove(next)
	v, after := s.Sole()
	require.Same(t, old, v)
	require.NotEqual(t, before, after, "nobody learns that another one was there")
	s.Add(next)
	s.Remove(old)
	v, _ = s.Sole()
	require.Same(t, next, v)
	_, err := s.Open("things", "acme", nil)
	require.ErrorIs(t, err, vault.ErrSealed)
}
