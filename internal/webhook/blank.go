package webhook

import (
	"bytes"
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/model"
)

const (
	// shortest is the fewest bytes of a credential that is blanked: shorter ones stand in many an answer by chance.
	shortest = 8
	// shortestPath is the fewest bytes of an address's whole path, which is seldom there by chance.
	shortestPath = 4
	// longestEscape is the most bytes that stand for one character.
	longestEscape = 12
)

// Credentials are the texts that no answer of a receiver may show: what it is sent to prove who calls it, the secrets,
// and its address beyond the host. A debug page or an API gateway repeats them.
type Credentials []string

// CredentialsOf returns what an integration is sent as a credential, but for tokens that are fetched for it.
func CredentialsOf(i *model.Integration) Credentials {
	secrets := []string{i.Secret.Reveal(), i.FormerSecret.Reveal()}
	req, err := http.NewRequest(http.MethodPost, i.URL, nil)
	if err != nil {
		return credentialsIn(new(http.Request), new(http.Request), secrets)
	}
	t := &authenticated{authentication: new(model.Authentication)}
	if i.Authentication != nil {
		t.authentication = i.Authentication
	}
	return credentialsIn(t.with(req, t.authentication.Bearer), req, secrets)
}

// credentialsIn returns the credentials in a request as it was sent. plain is the one to which they were added.
func credentialsIn(sent, plain *http.Request, secrets []string) (c Credentials) {
	for name, values := range sent.Header {
		if _, ours := plain.Header[name]; !ours {
			for _, value := range values {
				c.addHeader(value)
			}
		}
	}
	for _, secret := range secrets {
		c.addSecret(secret)
	}
	if plain.URL != nil {
		c.addAddress(plain.URL)
	}
	slices.Sort(c)
	return slices.Compact(c)
}

// addHeader adds the value of a header, or what follows the name of a scheme in it.
func (c *Credentials) addHeader(value string) {
	scheme, token, _ := strings.Cut(value, " ")
	if len(token) < shortest {
		token = value
	}
	c.addSecret(token)
	if strings.EqualFold(scheme, "Basic") {
		raw, _ := base64.StdEncoding.DecodeString(token)
		_, password, _ := strings.Cut(string(raw), ":")
		c.addSecret(password)
	}
}

// addSecret adds a secret, also in base64, alone and within something longer, which shifts it by up to two bytes.
func (c *Credentials) addSecret(secret string) {
	if len(secret) < shortest {
		return
	}
	*c = append(*c, secret)
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		*c = append(*c, encoding.EncodeToString([]byte(secret)))
		for shift := range 3 {
			encoded := encoding.EncodeToString(append(make([]byte, shift), secret...))
			// Without the characters that have bits of something else.
			*c = append(*c, encoded[(shift*8+5)/6:(shift+len(secret))*8/6])
		}
	}
}

// addAddress adds what follows the host of a URL: as a whole, and the parts that look like identifiers.
func (c *Credentials) addAddress(u *url.URL) {
	for _, whole := range []string{u.RequestURI(), u.EscapedPath(), u.Path} {
		if len(whole) >= shortestPath {
			*c = append(*c, whole)
		}
	}
	parts := []string{u.RawQuery}
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if strings.Trim(segment, "abcdefghijklmnopqrstuvwxyz-_") != "" { // a word says nothing, and answers have it
			parts = append(parts, segment)
		}
	}
	for _, part := range parts {
		if len(part) >= shortest {
			*c = append(*c, part)
		}
	}
}

// Blank returns a text in which a placeholder stands for each credential, also where characters of it are escaped as in
// JSON, HTML or a URL. cut: the text was cut off, and its end may be the beginning of one.
func (c Credentials) Blank(text []byte, cut bool) []byte {
	var begins [256]bool
	for _, one := range c {
		begins[one[0]] = true
	}
	var blanked []byte
	from := 0
	for at := 0; at < len(text); {
		n := 0
		if r, size := unescape(text[at:]); begins[text[at]] || size > 0 && (begins[byte(r)] || begins[string(r)[0]]) {
			for _, one := range c {
				n = max(n, spelled(text[at:], one, cut))
			}
		}
		if n == 0 {
			at++
			continue
		}
		blanked = append(append(blanked, text[from:at]...), model.Hidden...)
		at += n
		from = at
	}
	if from == 0 {
		return text
	}
	return append(blanked, text[from:]...)
}

// spelled returns how many bytes at the beginning of a text spell a credential; -1: they don't.
func spelled(text []byte, credential string, cut bool) int {
	for at := 0; ; {
		rest := text[at:]
		switch {
		case credential == "":
			return at
		case len(rest) == 0 && cut:
			return at
		case len(rest) == 0:
			return -1
		case rest[0] == credential[0] && (strings.IndexByte("%&+", rest[0]) >= 0 || rest[0] >= utf8.RuneSelf):
			// What begins an escape may also be itself.
			if n := spelled(rest[1:], credential[1:], cut); n >= 0 {
				return at + 1 + n
			}
		case rest[0] == credential[0]:
			at, credential = at+1, credential[1:]
			continue
		}
		r, size := unescape(rest)
		switch after, found := strings.CutPrefix(credential, string(r)); {
		case size == 0 && cut && at > 0 && len(rest) < longestEscape && strings.IndexByte(`%&\`, rest[0]) >= 0:
			return len(text) // it was cut off within an escape
		case size == 0:
			return -1
		case r < 0x100 && credential[0] == byte(r): // one byte of a character, percent-encoded or read as Latin-1
			credential = credential[1:]
		case found && rest[0] < utf8.RuneSelf:
			credential = after
		default:
			return -1
		}
		at += size
	}
}

// unescape reads the character that an escape at the beginning of a text stands for, or one beyond ASCII; size 0: there
// is none.
func unescape(text []byte) (r rune, size int) {
	switch text[0] {
	case '+':
		return ' ', 1
	case '%':
		if len(text) >= 3 {
			if b, err := strconv.ParseUint(string(text[1:3]), 16, 8); err == nil {
				return rune(b), 3
			}
		}
	case '\\': // several: JSON within JSON
		for size = 1; size < len(text) && size < 8 && text[size] == '\\'; {
			size++
		}
		if size == len(text) {
			return 0, 0
		}
		if text[size] != 'u' {
			return rune(text[size]), size + 1
		}
		if len(text) >= size+5 {
			if u, err := strconv.ParseUint(string(text[size+1:size+5]), 16, 16); err == nil {
				return rune(u), size + 5
			}
		}
	case '&':
		if end := bytes.IndexByte(text[:min(len(text), longestEscape)], ';'); end > 0 {
			entity := string(text[:end+1])
			if s := html.UnescapeString(entity); s != entity {
				r, _ = utf8.DecodeRuneInString(s)
				return r, end + 1
			}
		}
	default:
		if text[0] >= utf8.RuneSelf {
			if r, size = utf8.DecodeRune(text); r != utf8.RuneError {
				return r, size
			}
		}
	}
	return 0, 0
}

var (
	// schemes are the names of schemes in the header Authorization, and what follows them (RFC 9110 section 11.2).
	schemes = regexp.MustCompile(`(?i)\b((?:bearer|basic)(?:[\s+]|%20)+)([A-Za-z0-9._~+/=-]{8,})`)
	// signatures are 64 hexadecimal digits, also in base64, and what Standard Webhooks makes, also escaped.
	signatures = regexp.MustCompile(`[0-9A-Fa-f]{64,}|` +
		`[A-Za-z0-9+/_-]{0,3}(?:[MNOYZ][2DGTWjmz][ABEFIJMNQRUVYZcdghkl][0-5h-mw-z]){20}[A-Za-z0-9+/_-]{0,3}=*|djEs[A-Za-z0-9+/_-]{50,}|` +
		`v1(?:,|%2[Cc]|\\u002[Cc]|&#44;)(?:[A-Za-z0-9+/=_-]|%2[BbFf]|%3[Dd]|\\+/|\\+u00[0-9A-Fa-f]{2}|&#[xX]?[0-9A-Fa-f]+;|&[a-z]+;){40,}`)
)

// BlankOlder is Blank for an answer that may have been stored before it was blanked, with tokens that nobody knows any
// more.
func (c Credentials) BlankOlder(text []byte) []byte {
	return schemes.ReplaceAllFunc(c.Blank(text, false), func(found []byte) []byte {
		parts := schemes.FindSubmatch(found)
		if !bytes.ContainsAny(parts[2], "0123456789") { // a word
			return found
		}
		return append(slices.Clone(parts[1]), model.Hidden...)
	})
}

// BlankSignatures returns a text in which a placeholder stands for whatever may be a signature.
func BlankSignatures(text []byte) []byte {
	return signatures.ReplaceAllLiteral(text, []byte(model.Hidden))
}
