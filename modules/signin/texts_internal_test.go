package signin

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoTextIsMissing(t *testing.T) {
	t.Parallel()
	for _, one := range translations {
		for name, value := range reflect.ValueOf(*one).Fields() {
			require.NotEmpty(t, value.String(), "%s of %s", name.Name, one.Lang)
		}
	}
}
