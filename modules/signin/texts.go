package signin

import (
	"embed"
	"encoding/json"
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// texts holds the words of the pages in one language. {app} is the application's name, {service} ours, {seconds} and
// {number} a number.
type texts struct {
	Lang                                                string
	SignInTitle, SignInFor, Email, Password             string
	SignIn, Cancel                                      string
	NoEmail, NoPassword, Wrong, Slow, Late              string
	FactorTitle, Factor, SetUpTitle, SetUp              string
	Code, Key, Picture, NoCode, WrongCode               string
	AddressDecides, LeaveTitle, Leave, Another          string
	OffTitle, Off                                       string
	Upstream, Crowd                                     string
	StrangerTitle, Stranger                             string
	ConsentTitle, ConsentFor, ConsentSub, Allow, Refuse string
	ConsentProfile, ConsentEmail, ConsentOffline        string
	ConsentGroups                                       string
	DeniedTitle, Denied, SomebodyElse                   string
	SessionsTitle, OneSessionTitle, Sessions, Since     string
	SomeBrowser, ThisOne, EndIt, EndOthers              string
	SessionsMore, NotInTitle, NotIn                     string
	OwnPasswordTitle, OwnPassword, Current, New, Change string
	BadPassword, WrongCurrent, ChangedTitle, Changed    string
	NoOwnPasswordTitle, NoOwnPassword                   string
	ChooseTitle, Choose, SamePassword                   string
	Recovery, RecoveryTOTP, Recovered                   string
	LinkOverTitle, LinkOver                             string
	AskOutTitle, AskOut, SignOut                        string
	AnswerTitle, Answer, Continue                       string
	OutTitle, Out                                       string
	UntrustedTitle, Untrusted                           string
	OverTitle, Over                                     string
	ForeignTitle, Foreign                               string
	BrokenTitle, Broken                                 string
	NoPageTitle, NoPage                                 string
	HomeTitle, Home                                     string
}

//go:embed texts/*.json
var textFiles embed.FS

// translations are all languages; the first is the default. matcher chooses among them.
var (
	translations = []*texts{readTexts("en"), readTexts("de")}
	matcher      = language.NewMatcher([]language.Tag{language.English, language.German})
)

func readTexts(lang string) *texts {
	t := new(texts)
	raw, err := textFiles.ReadFile("texts/" + lang + ".json")
	if err == nil {
		err = json.Unmarshal(raw, t)
	}
	if err != nil { // they are part of the program
		panic(err)
	}
	return t
}

func languages() (tags []string) {
	for _, t := range translations {
		tags = append(tags, t.Lang)
	}
	return tags
}

// textsFor finds the language: what the application asks for (ui_locales), then what the browser accepts.
func textsFor(locales string, r *http.Request) *texts {
	var wanted []language.Tag
	for _, one := range strings.Fields(locales) {
		if tag, err := language.Parse(one); err == nil {
			wanted = append(wanted, tag)
		}
	}
	accepted, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err == nil {
		wanted = append(wanted, accepted...)
	}
	_, n, _ := matcher.Match(wanted...)
	return translations[n]
}
