package app_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What outlives a reload writes to the log of the configuration in force: the file of the former one is closed by then.
func TestSharedPartsFollowTheLog(t *testing.T) {
	s := newSite(t)
	c := s.with("acme")
	for _, name := range []string{"first.log", "second.log"} {
		c.log = "output file " + s.path(name)
		s.load(c)
		require.Equal(t, held{1, 1}, s.references(c))
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(s.path(name))
			return err == nil && strings.Contains(string(text), `"logger":"hiregate","msg":"Temporal is not there yet`)
		}, 15*time.Second, 20*time.Millisecond, "nothing of Temporal in %s", name)
	}
}
