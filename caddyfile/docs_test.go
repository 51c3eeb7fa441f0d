package caddyfile_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var known = regexp.MustCompile(`is unknown here: write (.*), at Caddyfile`)

// Every word that the parsers know is in the reference. The wrong Caddyfiles' errors list them.
func TestEveryOptionIsDescribed(t *testing.T) {
	t.Parallel()
	described := string(read(t, "../docs/caddyfile.md"))
	words := []string{"hiregate", "export_receiver", "documents", "healthz"}
	for _, path := range wrong(t, "testdata/wrong", 35) {
		if list := known.FindSubmatch(read(t, path)); list != nil {
			words = append(words, strings.Fields(strings.NewReplacer(",", " ", " or ", " ").Replace(string(list[1])))...)
		}
	}
	require.Subset(t, words, []string{"service_name", "namespace", "rate", "in_flight", "max_body"}, "a parser's list is not among them")
	for _, word := range words {
		require.Regexp(t, "`"+word+"[` ]", described)
	}
}
