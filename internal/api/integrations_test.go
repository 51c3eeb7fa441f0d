package api_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// An edit that changes one setting sends all others as they are shown. What can be set and is not shown is listed here.
func TestInputKeepsAllSettings(t *testing.T) {
	t.Parallel()
	shown := api.Integration{Name: "hris", URL: "https://hr.example.com", Documents: model.Inline, Standard: true, Traceparent: true,
		InFlight: 3, Rate: &api.Rate{PerSecond: 2, Burst: 5}, Retry: []string{"5s", "1m"}, Authentication: &api.AuthenticationSet{CA: true}}
	settings := map[string]any{}
	for field, value := range reflect.ValueOf(&shown).Elem().Fields() {
		settings[nameOf(field)] = value.Interface()
	}
	stays := []string{"name", "url", "secret", "formerSecret", "rotate", "authentication"}
	for field, value := range reflect.ValueOf(shown.Input()).Fields() {
		name := nameOf(field)
		if slices.Contains(stays, name) {
			require.Zero(t, value.Interface(), name)
			continue
		}
		require.NotZero(t, settings[name], "set %s in this test", name)
		require.Equal(t, settings[name], value.Interface(), name)
	}
}

// nameOf returns the name of a field in JSON.
func nameOf(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
