package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestComparedEmail(t *testing.T) {
	t.Parallel()
	const jorg = "j\u00f6rg@m\u00fcnchen.example"
	for _, written := range []string{
		jorg, "jo\u0308rg@mu\u0308nchen.example", " " + jorg + "\r\n", "\ufeff" + jorg, "\u200b " + jorg, jorg + "\u200b",
		"j\u00f6\u00adrg@\u2060m\u00fcnchen.example", "\u202a" + jorg + "\u202c", "\u200e" + jorg + "\ufe0f",
	} {
		require.Equal(t, jorg, model.ComparedEmail(written), "%q", written)
	}
	for _, other := range []string{"jorg@m\u00fcnchen.example", "J\u00d6RG@m\u00fcnchen.example", "j\u00f6 rg@m\u00fcnchen.example", ""} {
		require.Equal(t, other, model.ComparedEmail(other), "%q", other)
		require.NotEqual(t, jorg, model.ComparedEmail(other), "%q", other)
	}
}
