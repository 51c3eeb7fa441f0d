package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/store"
)

func TestAddressIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, hint string }{
		{"/var/lib/hiregate.db", "write sqlite:///"},
		{"mysql://root:hunter2@db/x", "write sqlite:///"},
		{"postgres://hiregate:hunter2@db/", "names no database"},
		{"postgres://hiregate@db/?password=hunter2", "names no database"},
		{"postgres://hiregate@db/x?password=hunter2&sslmode=no", "can't be read"},
		{"mysql://db/x?password=hunter2", "write sqlite:///"},
		{"host=db user=hiregate password=hunter2", "write sqlite:///"}, // as libpq takes it, too
		{"hiregate:hunter2@db/hiregate", "write sqlite:///"},
		{"root:hunter2@tcp(db:3306)/x", "write sqlite:///"},
		{"postgres:hiregate:hunter2@db/x", "can't be read"},
		{"postgres:/hiregate:hunter2@db/x", "can't be read"},
		{"postgres:host=db password=hunter2", "postgres://user:password@host:5432/name"},
		{"postgres://hiregate:12#hunter2@db/", "names no database"},
		{"sqlite:", "names no file"},
		{"sqlite://", "names no file"},
		{"sqlite://data/", "names no file"},
		{"sqlite://hiregate.db", "with three slashes"},
		{"sqlite://data/hiregate.db", "with three slashes"},
		{"sqlite:///var/lib/hiregate.db?mode=ro", "parameters, which are not taken"},
		{"sqlite:hiregate.db?_key=hunter2", "parameters, which are not taken"},
		{"sqlite:///nowhere/at/all/hiregate.db", "make it, writable for this user"},
	} {
		_, err := store.Open(t.Context(), c.address, store.Options{})
		require.ErrorContains(t, err, c.hint)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestAddressesOfOneFile(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	for address, path := range map[string]string{
		"sqlite:///var/lib/hiregate.db":     "/var/lib/hiregate.db",
		"sqlite:/var/lib/hiregate.db":       "/var/lib/hiregate.db",
		"sqlite:///var/lib/hire%20gate%3F1": "/var/lib/hire gate?1",
		"sqlite:data/hiregate.db":           filepath.Join(here, "data/hiregate.db"),
		"sqlite:./data/../hiregate.db":      filepath.Join(here, "hiregate.db"),
	} {
		identity, err := store.Identity(address)
		require.NoError(t, err, address)
		require.Equal(t, "sqlite:"+path, identity)
	}
}
