package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The schemas of the OpenAPI document are those of the types.
func TestSchemasAreUpToDate(t *testing.T) {
	t.Parallel()
	written := filepath.Join("..", "..", "..", "modules", "manageapi", "openapi")
	want, err := document(filepath.Join("..", ".."), written)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(written, generated))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go generate ./internal/api")
}

// The bodies of the receiver's document are those of the contract's schemas.
func TestReceiverIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := receiver(filepath.Join("..", "..", "..", "schemas"))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join("..", "..", "..", "modules", "manageapi", "openapi", receiverFile))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run go generate ./internal/api")
}
