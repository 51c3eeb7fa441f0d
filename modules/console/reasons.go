package console

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
)

// reason is a sentence of the gateway that pages show in the language of the reader.
type reason struct {
	Key    string // of its text, which has the parameters as {a}, {b} and so on
	Format string // as in the source, with %s, %d, %v and %w for the parameters
	form   *regexp.Regexp
}

// reasons lists those that people read often. Others are shown in English, and marked as English.
var reasons = formsOf([]reason{
	{Key: "Answered410", Format: "answered 410: the partner wants no more exports here"},
	{Key: "Answered", Format: "answered %d; only 2xx means received"},
	{Key: "NotResolved", Format: "the host name of %s could not be resolved (%v): check the " +
		"spelling in the URL and its DNS records"},
	{Key: "NotConnected", Format: "no connection to %s could be made (%v): check that it runs and is open to us"},
	{Key: "NoTLS", Format: "the TLS handshake with %s failed (%v): check its certificate"},
	{Key: "NotInTime", Format: "%s did not answer in time (%v at most): it should " +
		"acknowledge first and work afterwards"},
	{Key: "Closed", Format: "%s closed the connection before it answered: look into its log"},
	{Key: "NotHTTP", Format: "%s gave an answer that is not HTTP: check that the URL leads to an HTTP server"},
	{Key: "NotSent", Format: "nothing was sent to %s: %v"},
	{Key: "Gone", Format: "it answered 410"},
	{Key: "ByOperator", Format: "an operator disabled it"},
	{Key: "NotVerified", Format: "VERIFY was not sent yet"},
	{Key: "NotVerifiedSince", Format: "it was enabled; VERIFY was not sent since"},
	{Key: "VerifyOff", Format: "verify off: it is trusted without VERIFY"},
	{Key: "NotConfigured", Format: "it is not in this gateway's configuration; what waits " +
		"for it goes out once it is there again"},
	{Key: "FailsProbe", Format: "integration %s has failed since %s; next probe %s: %s"},
	{Key: "FailsTurn", Format: "integration %s has failed since %s; the next attempt is made in its turn: %s"},
	{Key: "Full", Format: "integration %s has as many attempts under way as it takes, %d: it waits for its turn"},
	{Key: "FirstSoon", Format: "its first attempt is made in a moment, or under way"},
	{Key: "ForDocuments", Format: "it waits for its documents, until %s at the latest: %d of %d are here"},
	{Key: "ForTemporal", Format: "it waits for Temporal, which does not answer, and goes out once that is back"},
	{Key: "ForWorkflow", Format: "it waits for Temporal to start its workflow, which happens in a moment"},
	{Key: "DocumentEnded", Format: "the document's URL ended before the gateway could fetch " +
		"it: have the candidate exported again"},
	{Key: "Harmful", Format: "a scanner found something harmful in it"},
	{Key: "Erased", Format: "what the export held was erased, as somebody asked"},
	{Key: "Unreadable", Format: "what is stored of this export can't be read: restore the database from a " +
		"backup and redeliver it, or have the candidate exported again"},
})

var verbs = regexp.MustCompile(`%[sdvw]`)

func formsOf(all []reason) []reason {
	for n := range all {
		quoted := regexp.QuoteMeta(all[n].Format)
		all[n].form = regexp.MustCompile("^" + verbs.ReplaceAllString(quoted, "(.+?)") + "$")
	}
	return all
}

// Reason returns a sentence of the gateway in the language of the page.
func (t *texts) Reason(sentence string) template.HTML {
	if words := t.reason(sentence); t.Lang != "en" && words != "" {
		return template.HTML(template.HTMLEscapeString(words))
	}
	return template.HTML(fmt.Sprintf(`<span lang="en">%s</span>`, template.HTMLEscapeString(sentence)))
}

// reason returns the words for a sentence; empty: there are none. A parameter may be such a sentence as well.
func (t *texts) reason(sentence string) string {
	for _, r := range reasons {
		found := r.form.FindStringSubmatch(sentence)
		if found == nil {
			continue
		}
		words := t.all["reason_"+r.Key]
		for n, parameter := range found[1:] {
			if inner := t.reason(parameter); inner != "" {
				parameter = inner
			}
			words = strings.ReplaceAll(words, fmt.Sprintf("{%c}", 'a'+n), parameter)
		}
		return words
	}
	return ""
}
