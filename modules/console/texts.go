package console

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// texts are what the pages say in one language, by key. What stands in braces is filled in.
type texts struct {
	Lang string
	all  map[string]string
}

//go:embed texts/*.json
var textFiles embed.FS

// translations are all languages; the first is the default. matcher chooses among them.
var (
	translations = []*texts{readTexts("en"), readTexts("de")}
	matcher      = language.NewMatcher([]language.Tag{language.English, language.German})
)

func readTexts(lang string) *texts {
	t := &texts{Lang: lang}
	raw, err := textFiles.ReadFile("texts/" + lang + ".json")
	if err == nil {
		err = json.Unmarshal(raw, &t.all)
	}
	if err != nil { // they are part of the program
		panic(err)
	}
	return t
}

func textsFor(r *http.Request) *texts {
	accepted, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")) // none: the default
	_, n, _ := matcher.Match(accepted...)
	return translations[n]
}

func (t *texts) has(key string) bool { return t.all[key] != "" }

// T returns a text. Pairs of a name and a value are filled in.
func (t *texts) T(key string, pairs ...any) (string, error) {
	text, ok := t.all[key]
	if !ok || len(pairs)%2 != 0 {
		return "", fmt.Errorf("the console has no text %q in %s, or it is filled in wrongly", key, t.Lang)
	}
	for n := 0; n < len(pairs); n += 2 {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%v}", pairs[n]), fmt.Sprint(pairs[n+1]))
	}
	return text, nil
}

// Word returns the text of a fixed word of the management API, such as an outcome; the word itself where there is none.
func (t *texts) Word(kind string, word any) string {
	if text := t.all[fmt.Sprintf("%s_%v", kind, word)]; text != "" {
		return text
	}
	return fmt.Sprint(word)
}
