package form_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/modules/apply/form"
)

func TestColoursThatPeopleCantReadAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		look form.Look
		want string
	}{
		{form.Look{Light: "#1a6647", Dark: "#7fd1a7"}, ""},
		{form.Look{Light: "#ffcc00"}, "#ffcc00 has a contrast of 1.4 to 1 on the light page, and people need 4.5: take a darker one"},
		{form.Look{Dark: "#003366"}, "#003366 has a contrast of 1.5 to 1 on the dark page, and people need 4.5: take a lighter one"},
		{form.Look{Light: "green"}, "a colour is six hexadecimal digits, such as 1a6647"},
	} {
		err := tt.look.ValidateColours()
		if tt.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, tt.want)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	require.NoError(t, form.ValidateOrigin("https://www.acme.example:8443"))
	for _, wrong := range []string{"", "*", "https://*.acme.example", "www.acme.example", "https://www.acme.example/", "ftp://x.example", "null"} {
		require.Error(t, form.ValidateOrigin(wrong), wrong)
	}
}
