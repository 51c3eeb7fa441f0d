package console

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each sentence that has words in German is one that the gateway writes, and a reader of English gets it as it is.
func TestReasons(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	split := regexp.MustCompile(`"\s*\+\s*"`)
	for _, folder := range []string{"internal", "workflows", "modules/manageapi"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("..", "..", filepath.FromSlash(folder)),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				raw, err := os.ReadFile(path)
				source.WriteString(split.ReplaceAllString(string(raw), ""))
				return err
			}))
	}
	written := source.String()
	for _, r := range reasons {
		require.Contains(t, written, `"`+r.Format+`"`, "the gateway does not write this any more")
		text := translations[1].all["reason_"+r.Key]
		require.NotEmpty(t, text, r.Key)
		for n := range verbs.FindAllString(r.Format, -1) {
			require.Contains(t, text, "{"+string(rune('a'+n))+"}", r.Key)
		}
	}
	english, german := translations[0], translations[1]
	for sentence, want := range map[string]string{
		"answered 503; only 2xx means received": "antwortete 503; nur 2xx heißt angenommen",
		"integration hris has failed since 02:31; next probe in 5 s: it answered 410": "Integration hris " +
			"scheitert seit 02:31; nächste Probe in 5 s: antwortete 410",
		"<b> closed the connection before it answered: look into its log": "&lt;b&gt; schloss die Verbindung, bevor eine Antwort kam: Sehen Sie dort im Log nach",
		"what nobody foresaw <b>": `<span lang="en">what nobody foresaw &lt;b&gt;</span>`,
	} {
		require.Equal(t, want, string(german.Reason(sentence)))
		require.Contains(t, string(english.Reason(sentence)), `<span lang="en">`)
	}
}
