package console

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Each reason that has a code has words in German, with the same parameters, and no others have.
func TestReasons(t *testing.T) {
	t.Parallel()
	english, german := translations[0], translations[1]
	names, words := regexp.MustCompile(`\{\w+\}`), map[string]bool{}
	for _, r := range model.Reasons {
		key := "reason_" + r.Code
		words[key] = true
		require.ElementsMatch(t, names.FindAllString(r.Sentence, -1), names.FindAllString(german.all[key], -1), r.Code)
	}
	for key := range german.all {
		require.True(t, words[key] || !strings.HasPrefix(key, "reason_"), "%s is of no reason", key)
	}
	for sentence, want := range map[string]string{
		"answered 503; only 2xx means received": "antwortete 503; nur 2xx heißt angenommen",
		"integration hris has failed since 02:31; next probe in 5 s: it answered 410": "Integration hris " +
			"scheitert seit 02:31; nächste Probe in 5 s: antwortete 410",
		"<b> closed the connection before it answered: look into its log": "&lt;b&gt; schloss die Verbindung, bevor " +
			"eine Antwort kam: Sehen Sie dort im Log nach",
		"integration hris is disabled: an operator disabled it, because: tests; hiregate integration enable acme/hris " +
			"delivers what is held, and hiregate audit list says who disabled it and when": "Integration hris ist " +
			"ausgeschaltet: ein Operator hat sie ausgeschaltet: tests; hiregate integration enable acme/hris stellt zu, was " +
			"gehalten wird, und hiregate audit list sagt, wer sie wann ausgeschaltet hat",
		"integration hris is not_configured: it was enabled; VERIFY was not sent since; hiregate integration enable " +
			"acme/hris has it verified again": "Integration hris ist nicht geprüft: wurde eingeschaltet; VERIFY wurde " +
			"seitdem nicht gesendet; hiregate integration enable acme/hris lässt sie neu prüfen",
		"what nobody foresaw <b>": `<span lang="en">what nobody foresaw &lt;b&gt;</span>`,
	} {
		require.Equal(t, want, string(german.Reason(sentence)))
		require.Contains(t, string(english.Reason(sentence)), `<span lang="en">`)
	}
}
