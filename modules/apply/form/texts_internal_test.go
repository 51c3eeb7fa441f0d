package form

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachTextIsThereInEachLanguage(t *testing.T) {
	t.Parallel()
	for _, one := range translations {
		v := reflect.ValueOf(*one)
		for n := range v.NumField() {
			require.NotEmpty(t, v.Field(n).String(), "%s in %s", v.Type().Field(n).Name, one.Lang)
		}
	}
}
