// Package welcome has the pages for people who open an address for programs in a browser: what is there, and where to
// go.
package welcome

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/hiregate/hiregate/internal/translation"
)

// The places that have a page.
const (
	Gateway = "gateway" // all addresses that no other line of the configuration serves
	Manage  = "manage"  // the management API
	Apply   = "apply"   // the Apply API
)

var (
	// Tokens begin each style sheet: the colours of all pages, light and dark, their fonts and sizes.
	//go:embed tokens.css
	Tokens string
	//go:embed page.css
	sheet string
	// Style is the style sheet of the pages with a single card, such as those of sign-in.
	Style = Tokens + sheet
	//go:embed page.html
	markup string
	//go:embed texts/*.json
	files embed.FS

	page = template.Must(template.New("page").Parse(markup))
	// texts are by language and place.
	texts = translation.Read(files, func(lang string, places map[string]text) map[string]text {
		for place, t := range places {
			t.Lang, t.Style = lang, template.CSS(Style)
			places[place] = t
		}
		return places
	})
)

// text holds the words of a page.
type text struct {
	Lang, Title, Lead string
	Ways              []string // where to go, a sentence or two each
	Style             template.CSS
}

// StyleSource lets Style pass a Content-Security-Policy, and no other style.
var StyleSource = func() string {
	sum := sha256.Sum256([]byte(Style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// WantsPage reports whether a browser asks, for a person to read.
func WantsPage(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}

// Show answers with the page of a place, in the language that the browser asks for.
func Show(w http.ResponseWriter, r *http.Request, status int, place string) {
	t := translation.For(r, texts)[place]
	var b bytes.Buffer
	if err := page.Execute(&b, t); err != nil { // nothing in it depends on the request
		panic(err)
	}
	Write(w, status, t.Lang, b.Bytes())
}

// Write answers with a page that has Style, and nothing else but text and links: no script, form, picture or frame.
func Write(w http.ResponseWriter, status int, lang string, page []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", lang)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src "+StyleSource+"; form-action 'none'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	w.Write(page)
}
