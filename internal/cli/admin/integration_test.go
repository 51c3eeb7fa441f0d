package admin

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/modeltest"
)

// A rotation in the Caddyfile is shown, although nobody knows when it began.
func TestRotationOfTheCaddyfileIsShown(t *testing.T) {
	t.Parallel()
	shown := func(rotating bool) string {
		var i api.IntegrationHours
		i.Rotating = rotating
		var out strings.Builder
		require.NoError(t, integrations.print(&out, &i))
		return out.String()
	}
	require.Regexp(t, `(?m)^rotation began +not known$`, shown(true))
	require.Regexp(t, `(?m)^rotation began +-$`, shown(false))
}

// Each option of an integration has a flag, is shown, and stays unless its flag names another.
func TestOptionsOfAnIntegrationHaveFlags(t *testing.T) {
	t.Parallel()
	var in api.IntegrationInput
	none, kept := integrations.fields(&api.IntegrationHours{}), integrationSettings.kept(&api.Integration{Options: modeltest.Options()})
	require.Equal(t, modeltest.Options(), kept.Options)
	for field, option := range reflect.ValueOf(&in.Options).Elem().Fields() {
		require.True(t, slices.ContainsFunc(integrationSettings.flags, func(f setting[api.IntegrationInput]) bool {
			return reflect.ValueOf(f.field(&in)).Pointer() == option.Addr().Pointer()
		}), "no flag sets %s", field.Name)
		var i api.IntegrationHours
		reflect.ValueOf(&i.Options).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(kept.Options).FieldByIndex(field.Index))
		require.NotEqual(t, none, integrations.fields(&i), "integration show leaves out %s", field.Name)
	}
}

// Gaps that are given one by one would be the last of them alone.
func TestRetryIsGivenOnce(t *testing.T) {
	t.Parallel()
	var in api.IntegrationInput
	flags := pflag.NewFlagSet("set", pflag.ContinueOnError)
	integrationSettings.add(flags, &in)
	require.NoError(t, flags.Parse([]string{"--retry", "5s,30s"}))
	require.Equal(t, []string{"5s", "30s"}, in.Retry.Words())
	require.ErrorContains(t, flags.Parse([]string{"--retry", "1m"}), `"--retry" flag: the flag stands there twice`)
	require.Equal(t, []string{"5s", "30s"}, in.Retry.Words())
}
