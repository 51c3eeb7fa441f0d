package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/identity"
)

func TestSameAddress(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{"ada@example.com", "ADA@Example.COM"}, {"ada@münchen.example", "ada@MÜNCHEN.example"},
		{"ada@münchen.example", "Ada@xn--mnchen-3ya.example"},
		{"jörg@example.com", "Jörg@example.com"}, {"ada@exa_mple.com", "ada@EXA_mple.com"},
		{"ada@[192.0.2.1]", "ADA@[192.0.2.1]"},
	} {
		require.True(t, identity.SameAddress(same[0], same[1]), "%q", same)
	}
	for _, other := range [][2]string{
		{"ceo@straße.example", "ceo@strasse.example"}, {"ceo@straße.example", "ceo@STRASSE.example"},
		{"ſteve@example.com", "steve@example.com"},
		{"straße@example.com", "strasse@example.com"}, {"\u212Aim@example.com", "kim@example.com"},
		{"jörg@example.com", "JÖRG@example.com"},
		{"ada@example.com", " ada@example.com"}, {"ada@example.com", "ada@example.com "},
		{"ada@example.com", "ada@example.com."}, {"ada@example.com", "bob@example.com"},
		{"", ""}, {"@", "@"}, {"ada", "ada"},
	} {
		require.False(t, identity.SameAddress(other[0], other[1]), "%q", other)
	}
}
