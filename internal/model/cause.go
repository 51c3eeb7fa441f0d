package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// NeedCause keeps exports from integrations that got the same answer, or fail with the same kind of error.
type NeedCause struct {
	ID     string `json:"id"`
	Status int    `json:"status,omitzero"` // absent: no answer came, or none is waited for
	// what the last answer says first, where it is an answer to an export; it may repeat data of a candidate
	FirstLine string `json:"firstLine,omitempty"`
	// tenant and name, such as acme/hris, the worst first; at most 20
	Integrations []string `json:"integrations" schema:"maxItems=20"`
	More         int      `json:"more"` // how many integrations are left out
	Helps        Helps    `json:"helps"`
	// what came of the last tries that somebody asked for, since it began; absent: nobody did
	LastTry *CauseTry `json:"lastTry,omitempty"`
	// who knows of it; absent: nobody said so
	Acknowledged *Acknowledgement `json:"acknowledged,omitempty"`
}

// CauseTry says what came of trying again, at all integrations of a cause.
type CauseTry struct {
	At       time.Time `json:"at"`               // when the last one began
	Running  int       `json:"running"`          // at how many integrations it is under way
	Ended    int       `json:"ended"`            // at how many it is over
	Received int64     `json:"received"`         // exports that were received
	Failed   int64     `json:"failed"`           // exports that were not
	Reason   string    `json:"reason,omitempty"` // why it ended early at the integration where it began last
}

// Add adds the try at another integration.
func (t *CauseTry) Add(other *CauseTry) {
	if other.Reason != "" && (t.Reason == "" || other.At.After(t.At)) {
		t.Reason = other.Reason
	}
	if other.At.After(t.At) {
		t.At = other.At
	}
	t.Running, t.Ended = t.Running+other.Running, t.Ended+other.Ended
	t.Received, t.Failed = t.Received+other.Received, t.Failed+other.Failed
}

// MostOfCause is how many integrations of a cause are listed.
const MostOfCause = 20

// Helps says which measure works against a cause.
type Helps string

// The measures against a cause.
const (
	HelpsRetry  Helps = "retry"  // trying again may
	HelpsClient Helps = "client" // the client has to change something first; trying again does not help before
	HelpsEnable Helps = "enable" // once the client agrees: exports are held until then
)

// Acknowledgement says that somebody knows of a cause, which is not counted until a time.
type Acknowledgement struct {
	Cause string `json:"-"`
	Author
	Note  string    `json:"note,omitempty"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// MaxAcknowledged is for how long a cause can be acknowledged.
const MaxAcknowledged = 30 * 24 * time.Hour

// varies matches the numbers and the ids of requests in which answers differ that say the same.
var varies = regexp.MustCompile(`[0-9a-fA-F-]{8,}|[0-9]+`)

// NewNeedCause returns the cause of a need of an integration: the reason that its state gives, a sentence for people, and the
// answer to the last export, if there was one. Its id is the hash of what makes it the same: with a key, since addresses have
// it, and the answer may repeat data of a candidate that somebody could guess.
func NewNeedCause(kind NeedKind, reason string, answer []byte, hash func(words string) ([sha256.Size]byte, error)) (*NeedCause, error) {
	c := &NeedCause{FirstLine: FirstLine(answer), Helps: HelpsClient}
	words := string(kind) + "\n"
	code := ""
	for why := ParseReason(reason); why != nil; why = why.Cause {
		code = why.Code
		words += code + " " + why.Params["scheme"] + why.Params["why"] + "\n"
		if status := why.Params["status"]; status != "" {
			_, _ = fmt.Sscan(status, &c.Status)
		}
	}
	switch {
	case code == "":
		words += varies.ReplaceAllString(reason, "#")
	case code == "gone" || code == "answered_gone":
		c.Status = http.StatusGone
	}
	switch {
	case kind == NeedDisabled:
		c.Helps = HelpsEnable
	case kind == NeedFailing && (c.Status == 0 && passing[code] || c.Status >= 500 ||
		slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, c.Status)):
		c.Helps = HelpsRetry
	}
	words += fmt.Sprintf("%d\n%s", c.Status, varies.ReplaceAllString(c.FirstLine, "#"))
	sum, err := hash(words)
	c.ID = hex.EncodeToString(sum[:8])
	return c, err
}

// passing are the codes of reasons without a status that pass by themselves.
var passing = map[string]bool{"no_connection": true, "timeout": true, "closed": true, "no_http": true, "host_unknown": true,
	"token_unreachable": true, "token_timeout": true}

// maxFirstLine is how many characters of an answer FirstLine returns.
const maxFirstLine = 160

// title is the title of an answer that is a page of HTML.
var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// FirstLine returns what an answer says first: the title of a page, the beginning of JSON, or else the first line.
func FirstLine(answer []byte) string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(answer), string(utf8.RuneError)))
	if found := title.FindStringSubmatch(text); found != nil {
		text = found[1]
	} else if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		text, _, _ = strings.Cut(text, "\n")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return utf8.RuneError
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > maxFirstLine {
		text = string(runes[:maxFirstLine]) + "…"
	}
	return text
}
