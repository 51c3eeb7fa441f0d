package listen

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/welcome"
)

//go:embed page.html
var markup string

//go:embed page.css
var sheet string

// style is the style sheet of the pages.
var style = welcome.Tokens + sheet

var pages = template.Must(template.New("partner").Parse(markup))

// policy is the pages' Content-Security-Policy: our style, and nothing else.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; frame-ancestors 'none'; base-uri 'none'"
}()

// pageData is the template data of a page of the sample partner.
type pageData struct {
	Style   template.CSS
	Issuer  string
	Client  string
	Problem string  // a sentence; empty: none
	Person  *person // nil: no user is signed in
	Counts  string  // what the webhook received
}

func (s *signIn) show(w http.ResponseWriter, status int, page *pageData) {
	page.Style, page.Issuer, page.Client = template.CSS(style), s.issuer, s.config.ClientID
	var b bytes.Buffer
	if err := pages.Execute(&b, page); err != nil {
		http.Error(w, "the page can't be shown", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

func (s *signIn) failed(w http.ResponseWriter, status int, problem string) {
	s.show(w, status, &pageData{Problem: problem})
}

// claimRow is a row of the page.
type claimRow struct{ Name, Value, Note string }

// claimOrder is the order of the claims: first who it is, then the rest.
var claimOrder = []string{"name", "given_name", "family_name", "email", "email_verified", "sub", "iss", "aud",
	"auth_time", "iat", "exp", "nonce", "at_hash"}

// Name returns the name by which the page greets the user.
func (p *person) Name() string {
	for _, name := range []string{"name", "email", "sub"} {
		if text, ok := p.claims[name].(string); ok && text != "" {
			return text
		}
	}
	return "you"
}

// Claims returns the claims of the ID token, known ones first.
func (p *person) Claims() (rows []claimRow) {
	names := slices.DeleteFunc(slices.Clone(claimOrder), func(name string) bool { _, ok := p.claims[name]; return !ok })
	for _, name := range slices.Sorted(maps.Keys(p.claims)) {
		if !slices.Contains(claimOrder, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		rows = append(rows, claimOf(name, p.claims[name]))
	}
	return rows
}

func claimOf(name string, value any) claimRow {
	switch value := value.(type) {
	case string:
		return claimRow{Name: name, Value: value}
	case float64:
		if slices.Contains([]string{"auth_time", "iat", "exp"}, name) {
			return claimRow{Name: name, Value: fmt.Sprintf("%.0f", value),
				Note: time.Unix(int64(value), 0).UTC().Format("2006-01-02 15:04:05 UTC")}
		}
	}
	raw, err := json.Marshal(value)
	if err != nil { // it was JSON when it came
		raw = nil
	}
	return claimRow{Name: name, Value: string(raw)}
}
