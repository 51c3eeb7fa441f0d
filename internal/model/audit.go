package model

import (
	"strings"
	"time"
	"unicode"
)

// AuditEntry says who did what through the management API, and when.
type AuditEntry struct {
	ID int64     `json:"id,string" schema:"pattern=^[0-9]+$"`
	At time.Time `json:"at"`
	Author
	Action string `json:"action"`           // such as set, remove, redeliver, release, erase
	Tenant string `json:"tenant"`           // empty: what was changed belongs to none
	Object string `json:"object"`           // kind and id, such as exports/u-1
	Detail string `json:"detail,omitempty"` // a sentence for people
}

// AuditActions are the actions that entries have.
var AuditActions = []string{"add", "set", "remove", "enable", "disable", "redeliver", "retry", "pause", "resume", "cancel",
	"release", "erase", ActionExport, "show-body", "show-answers", "download", "dump", "open-portal", "reset", "recover", "require-totp", "end", "reopen", "choose",
	"take-over", "take-out", "import", "resolve", "acknowledge", "fetch"}

// Author identifies the person or the key that did something. Name and address are as of then, so that a person who is
// renamed or removed later can still be found. Only the audit has them, no log.
type Author struct {
	// Actor is the id of an API key, of a person (console:…), of a link to the portal (portal:…) or of a partner that
	// applies (api-user:…), "form" (an applicant's), "admin endpoint", or "configuration": what the Caddyfile says was done.
	Actor   string `json:"actor"`
	Name    string `json:"name,omitempty"`    // of the person, or the label of the API key
	Email   string `json:"email,omitempty"`   // verified
	Claimed bool   `json:"claimed,omitempty"` // the name is the user of an operating system, which nobody checked
}

// ActionExport is the action that triggers an export. Its object is that export, so its author is the export's.
const ActionExport = "export"

// ExportObject is an export as the audit names it.
func ExportObject(e *Export) string { return "exports/" + e.Key }

// AdminEndpoint is the actor of what is done at Caddy's admin endpoint.
const AdminEndpoint = "admin endpoint"

// MaxAuthorName is how many bytes of a name and of an address the audit keeps.
const MaxAuthorName = 254

// Bounded returns the author with a name and an address of at most MaxAuthorName bytes, on one line.
func (a Author) Bounded() Author {
	a.Name, a.Email = bounded(a.Name), bounded(a.Email)
	return a
}

func bounded(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if len(text) > MaxAuthorName {
		text = strings.ToValidUTF8(text[:MaxAuthorName], "")
	}
	return strings.TrimSpace(text)
}

// String is the author as people read them: the name and the address, or the actor where neither is known.
func (a Author) String() string {
	switch {
	case a.Claimed:
		return a.Actor + " (" + a.Name + ", claimed)"
	case a.Name != "" && a.Email != "" && a.Name != a.Email:
		return a.Name + " <" + a.Email + ">"
	case a.Name != "":
		return a.Name
	case a.Email != "":
		return a.Email
	}
	return a.Actor
}
