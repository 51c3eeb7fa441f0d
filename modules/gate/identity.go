package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/session"
)

// names begins the headers that tell an application who its visitor is.
const names = "X-Auth-Request-"

// removeIdentity removes the headers in which a client says itself who it is, in every spelling that an application may
// take for ours: many read X_Auth_Request_User as X-Auth-Request-User. It keeps a client from naming ours in Connection,
// too: proxies remove what stands there, so that the application would take somebody for nobody.
func removeIdentity(h http.Header) {
	for name := range h {
		if isIdentity(name) {
			delete(h, name)
		}
	}
	for n, line := range h["Connection"] {
		options := slices.DeleteFunc(strings.Split(line, ","), isIdentity)
		h["Connection"][n] = strings.Join(options, ",")
	}
}

// isIdentity reports whether a header's name may be read as one of ours.
func isIdentity(name string) bool {
	plain := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return unicode.ToLower(c)
		}
		return '-'
	}, strings.TrimSpace(name))
	return strings.HasPrefix(plain, strings.ToLower(names))
}

// identify sets the headers. An absent claim is an empty value.
func (v *visitor) identify(h http.Header, s *session.Session) {
	groups := make([]string, len(s.Groups))
	for n, group := range s.Groups {
		groups[n] = inHeader(group, ",")
	}
	h.Set(names+"User", inHeader(s.Subject, ""))
	h.Set(names+"Email", inHeader(s.Email, ""))
	h.Set(names+"Name", url.PathEscape(s.Name))
	h.Set(names+"Groups", strings.Join(groups, ","))
	if v.gate.Tokens != nil {
		token, err := v.token(s)
		if err != nil {
			v.gate.Log.Error("who asks can't be signed", zap.Error(err))
		}
		h.Set(names+"JWT", token)
	}
}

// inHeader percent-encodes what can't stand in a header, %, and further characters.
func inHeader(s, further string) string {
	var b strings.Builder
	for n := range len(s) {
		if c := s[n]; c <= ' ' || c >= 0x7f || c == '%' || strings.IndexByte(further, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
