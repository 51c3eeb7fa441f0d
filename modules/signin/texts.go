package signin

import (
	"embed"
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/translation"
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
	Used                                                string
	SomeBrowser, ThisOne, EndIt, EndOthers              string
	SessionsMore, NotInTitle, NotIn                     string
	OwnPasswordTitle, OwnPassword, Current, New, Change string
	BadPassword, WrongCurrent, ChangedTitle, Changed    string
	NoOwnPasswordTitle, NoOwnPassword                   string
	OwnFactorTitle, NoFactor, OwnFactor, RequiredFactor string
	SetItUp, SetUpAnother, RemoveFactor                 string
	FactorSetUpTitle, FactorRemovedTitle                string
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

var translations = translation.Read(textFiles, func(_ string, t *texts) *texts { return t })

func languages() (tags []string) {
	for _, t := range translations {
		tags = append(tags, t.Lang)
	}
	return tags
}

// textsFor finds the language: what the application asks for (ui_locales), then what the browser accepts.
func textsFor(locales string, r *http.Request) *texts {
	return translation.For(r, translations, strings.Fields(locales)...)
}
