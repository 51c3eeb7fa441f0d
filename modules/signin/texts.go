package signin

import (
	"net/http"
	"strings"

	"golang.org/x/text/language"
)

// texts are what the pages say in one language. {app} is the application's name, {service} ours, {seconds} a number.
type texts struct {
	Lang                                                string
	SignInTitle, SignInFor, Email, Password             string
	SignIn, Cancel                                      string
	NoEmail, NoPassword, Wrong, Slow, Late              string
	FactorTitle, Factor, SetUpTitle, SetUp              string
	Code, Key, Picture, NoCode, WrongCode               string
	Upstream, Crowd                                     string
	StrangerTitle, Stranger                             string
	ConsentTitle, ConsentFor, ConsentSub, Allow, Refuse string
	ConsentProfile, ConsentEmail, ConsentOffline        string
	AskOutTitle, AskOut, SignOut                        string
	OutTitle, Out                                       string
	UntrustedTitle, Untrusted                           string
	OverTitle, Over                                     string
	ForeignTitle, Foreign                               string
	BrokenTitle, Broken                                 string
	NoPageTitle, NoPage                                 string
}

var english = texts{
	Lang:        "en",
	SignInTitle: "Sign in", SignInFor: "to continue to {app}", Email: "E-mail address", Password: "Password",
	SignIn: "Sign in", Cancel: "Cancel",
	NoEmail: "Enter your e-mail address.", NoPassword: "Enter your password.",
	Wrong:       "The e-mail address or the password is not right.",
	Slow:        "Too many attempts. Wait {seconds} s, then try again.",
	Late:        "That took too long. Sign in again.",
	FactorTitle: "One more step", Factor: "Enter the code that your authenticator app shows for {service}.",
	SetUpTitle: "Protect your account", SetUp: "Scan this picture with an authenticator app, or type the key into it. Then enter the code that the app shows.",
	Code: "Code", Key: "Key", Picture: "Picture of the key, for an app to scan",
	NoCode: "Enter the six digits that the app shows.", WrongCode: "This code is not right, or was used already. Wait for the next one.",
	Upstream:      "Sign in with {provider}",
	Crowd:         "Too many people in your network are signing in with {provider} and have not finished. Wait a few minutes, then try again.",
	StrangerTitle: "We don’t know your account yet", Stranger: "You are signed in at {provider}, but it has no e-mail address of yours that was verified, or the account of that address is not to be joined. Tell those who run {service}.",
	ConsentTitle: "Share with {app}?", ConsentFor: "{app} will learn from {service}:", ConsentSub: "that it is you, each time you sign in",
	Allow: "Allow", Refuse: "Don’t allow",
	ConsentProfile: "your name", ConsentEmail: "your e-mail address", ConsentOffline: "this also while you are away or signed out",
	AskOutTitle: "Sign out?", AskOut: "You are signed in to {service}. Applications that you use may ask you to sign in again.", SignOut: "Sign out",
	OutTitle: "You are signed out", Out: "You can close this window.",
	UntrustedTitle: "This link doesn’t lead anywhere",
	Untrusted:      "The application that sent you here is not known to us, or asked for something that we don’t do. Go back to it and try again; if that does not help, tell those who run it.",
	OverTitle:      "This sign-in is over", Over: "It is finished already, took longer than 15 minutes, or was begun in another browser. Go back to the application and begin again.",
	ForeignTitle: "This form was not ours", Foreign: "It was sent from another site, so nothing was done. Go back to the application and begin again.",
	BrokenTitle: "Something is wrong on our side", Broken: "We can’t sign you in now. Try again in a moment.",
	NoPageTitle: "There is no page here", NoPage: "Go back to the application that you want to use, and begin again there.",
}

var german = texts{
	Lang:        "de",
	SignInTitle: "Anmelden", SignInFor: "weiter zu {app}", Email: "E-Mail-Adresse", Password: "Passwort",
	SignIn: "Anmelden", Cancel: "Abbrechen",
	NoEmail: "Geben Sie Ihre E-Mail-Adresse ein.", NoPassword: "Geben Sie Ihr Passwort ein.",
	Wrong:       "E-Mail-Adresse oder Passwort stimmt nicht.",
	Slow:        "Zu viele Versuche. Warten Sie {seconds} s und versuchen Sie es dann noch einmal.",
	Late:        "Das hat zu lange gedauert. Melden Sie sich noch einmal an.",
	FactorTitle: "Noch ein Schritt", Factor: "Geben Sie den Code ein, den Ihre Authenticator-App für {service} zeigt.",
	SetUpTitle: "Schützen Sie Ihr Konto", SetUp: "Scannen Sie dieses Bild mit einer Authenticator-App oder geben Sie den Schlüssel dort ein. Geben Sie dann den Code ein, den die App zeigt.",
	Code: "Code", Key: "Schlüssel", Picture: "Bild des Schlüssels, das eine App scannt",
	NoCode: "Geben Sie die sechs Ziffern ein, die die App zeigt.", WrongCode: "Dieser Code stimmt nicht oder wurde schon benutzt. Warten Sie auf den nächsten.",
	Upstream:      "Mit {provider} anmelden",
	Crowd:         "Zu viele Personen in Ihrem Netz melden sich gerade mit {provider} an und sind noch nicht fertig. Warten Sie einige Minuten und versuchen Sie es dann noch einmal.",
	StrangerTitle: "Wir kennen Ihr Konto noch nicht", Stranger: "Sie sind bei {provider} angemeldet, aber dort steht keine bestätigte E-Mail-Adresse von Ihnen, oder das Konto mit dieser Adresse darf nicht verbunden werden. Wenden Sie sich an die Betreiber von {service}.",
	ConsentTitle: "Mit {app} teilen?", ConsentFor: "{app} erfährt von {service}:", ConsentSub: "dass Sie es sind, bei jeder Anmeldung",
	Allow: "Erlauben", Refuse: "Nicht erlauben",
	ConsentProfile: "Ihren Namen", ConsentEmail: "Ihre E-Mail-Adresse", ConsentOffline: "dies auch, während Sie abwesend oder abgemeldet sind",
	AskOutTitle: "Abmelden?", AskOut: "Sie sind bei {service} angemeldet. Anwendungen, die Sie nutzen, bitten Sie danach vielleicht um eine neue Anmeldung.", SignOut: "Abmelden",
	OutTitle: "Sie sind abgemeldet", Out: "Sie können dieses Fenster schließen.",
	UntrustedTitle: "Dieser Link führt nirgendwohin",
	Untrusted:      "Die Anwendung, von der Sie kommen, ist uns nicht bekannt oder verlangt etwas, das wir nicht tun. Gehen Sie dorthin zurück und versuchen Sie es noch einmal; hilft das nicht, wenden Sie sich an deren Betreiber.",
	OverTitle:      "Diese Anmeldung ist vorbei", Over: "Sie ist schon abgeschlossen, hat länger als 15 Minuten gedauert oder wurde in einem anderen Browser begonnen. Gehen Sie zur Anwendung zurück und beginnen Sie noch einmal.",
	ForeignTitle: "Dieses Formular war nicht von uns", Foreign: "Es kam von einer anderen Seite; deshalb wurde nichts getan. Gehen Sie zur Anwendung zurück und beginnen Sie noch einmal.",
	BrokenTitle: "Bei uns stimmt etwas nicht", Broken: "Wir können Sie gerade nicht anmelden. Versuchen Sie es gleich noch einmal.",
	NoPageTitle: "Hier ist keine Seite", NoPage: "Gehen Sie zu der Anwendung zurück, die Sie nutzen möchten, und beginnen Sie dort noch einmal.",
}

// translations are all languages; the first is the default.
var translations = []*texts{&english, &german}

var matcher = language.NewMatcher([]language.Tag{language.English, language.German})

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
