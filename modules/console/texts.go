package console

import (
	"embed"
	"fmt"
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/translation"
)

// texts holds the texts of the pages in one language, by key. Names in braces are filled in.
type texts struct {
	Lang string
	you  bool // the reader is the partner: a text whose key ends with _you takes the place of the other one
	all  map[string]string
}

//go:embed texts/*/*.json
var textFiles embed.FS

var translations = translation.Read(textFiles, func(lang string, all map[string]string) *texts {
	for key, text := range all {
		all[key] = figures.Replace(text)
	}
	return &texts{Lang: lang, all: all}
})

// figures are the numbers of the code that texts name, by what stands for them in braces.
var figures = strings.NewReplacer(
	"{BreakAfter}", fmt.Sprint(model.BreakAfter), "{RetryGaps}", gapsOf(model.DefaultSchedule),
	"{DeliveryWindow}", fmt.Sprintf("%d h", int(model.DeliveryWindow.Hours())),
	"{DocumentWindow}", new(texts).Span(model.DocumentWindow), "{PortalTime}", short(gateway.PortalTime),
	"{MaxInFlight}", fmt.Sprint(model.MaxInFlight), "{MaxUpload}", fmt.Sprint(maxUpload>>20),
	"{MaxCertificate}", fmt.Sprint(model.MaxCertificate>>10), "{MaxAuthorities}", fmt.Sprint(model.MaxAuthorities>>10),
)

// gapsOf returns the gaps between attempts as a page has them.
func gapsOf(s model.Schedule) string {
	all := make([]string, len(s))
	for n, gap := range s {
		all[n] = short(gap)
	}
	return strings.Join(all, ", ")
}

func textsFor(r *http.Request) *texts { return translation.For(r, translations) }

// forPartner returns the texts as the partner reads them.
func (t *texts) forPartner() *texts { return &texts{Lang: t.Lang, you: true, all: t.all} }

func (t *texts) has(key string) bool { return t.all[key] != "" }

// T returns a text. Pairs of a name and a value are filled in.
func (t *texts) T(key string, pairs ...any) (string, error) {
	text, ok := t.all[key]
	if you := t.all[key+"_you"]; t.you && you != "" {
		text = you
	}
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
	if text, err := t.T(fmt.Sprintf("%s_%v", kind, word)); err == nil {
		return text
	}
	return fmt.Sprint(word)
}
