package etag_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/etag"
)

func TestTagsAreCompared(t *testing.T) {
	t.Parallel()
	tag := etag.Of("a", "b")
	require.Regexp(t, `^"[0-9a-f]{32}"$`, tag)
	require.NotEqual(t, tag, etag.Of("ab"))
	for _, c := range []struct {
		header         []string
		strong, weakly bool
	}{
		{nil, false, false},
		{[]string{""}, false, false},
		{[]string{`"x"`}, false, false},
		{[]string{"*"}, true, true},
		{[]string{tag}, true, true},
		{[]string{`"x", ` + tag}, true, true},
		{[]string{`"x"`, tag}, true, true},
		{[]string{"W/" + tag}, false, true},
		{[]string{tag[1 : len(tag)-1]}, false, false},
	} {
		require.Equal(t, c.strong, etag.Listed(c.header, tag), c.header)
		require.Equal(t, c.weakly, etag.ListedWeakly(c.header, tag), c.header)
	}
}
