package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A feed is read as this gateway's own has it. What has no code or no title, or one that is too long, is left out.
func TestParseFeed(t *testing.T) {
	t.Parallel()
	profile := func(code, title string) string {
		return fmt.Sprintf(`{"positionId":{"schemeId":"s","value":%s},"positionTitle":%s,"place":["x"]}`, code, title)
	}
	for feed, want := range map[string]map[string]string{
		`{"positionProfiles":[]}`: {},
		`{"at":1,"positionProfiles":[` + profile(`"A"`, `"Nurse\n, night"`) + `,` + profile(`"B"`, `""`) + `,` + profile(`7`, `"C"`) + `,` +
			profile(`"D"`, `{"x":1}`) + `,` + profile(`"`+strings.Repeat("e", 256)+`"`, `"E"`) + `,` +
			profile(`"F"`, `"`+strings.Repeat("f", 2000)+`"`) + `,` + profile(`"\u0000"`, `"G"`) + `,{}]}`: {"A": "Nurse , night"},
	} {
		titles, err := parseFeed(strings.NewReader(feed))
		require.NoError(t, err)
		require.Equal(t, want, titles)
	}
	for _, feed := range []string{``, `[]`, `{}`, `<html>`, `{"positionProfiles":{}}`, `{"positionProfiles":[1]}`, `{"positionProfiles":[]} x`} {
		_, err := parseFeed(strings.NewReader(feed))
		require.Error(t, err, feed)
	}
	many := make([]string, maxJobs+1)
	for n := range many {
		many[n] = profile(fmt.Sprintf(`"J-%d"`, n), `"Nurse"`)
	}
	titles, err := parseFeed(strings.NewReader(`{"positionProfiles":[` + strings.Join(many, ",") + `]}`))
	require.NoError(t, err)
	require.Len(t, titles, maxJobs)
}
