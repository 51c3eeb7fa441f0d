package identity

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
)

// maxText is the length of a name or a client's id in characters, maxEmail that of an e-mail address that mail can be
// sent to (RFC 5321 section 4.5.3.1.3); maxURI the length of an address, in bytes.
const (
	maxText  = 255
	maxEmail = 254
	maxURI   = 2 << 10
	maxURIs  = 50
)

// Fold returns the form in which an e-mail address is looked up: browsers send the A-labels of a domain (RFC 5890) from
// an e-mail field, however it was typed. It is good enough where a password is checked as well; if the address by
// itself is the proof, use SameAddress.
func Fold(email string) string {
	email = strings.TrimSpace(email)
	if at := strings.LastIndexByte(email, '@'); at >= 0 {
		if domain, err := idna.Lookup.ToUnicode(email[at+1:]); err == nil && domain != "" {
			email = email[:at+1] + domain
		}
	}
	return cases.Fold().String(email)
}

// Validate returns what is wrong with a user, or nil. The error is a sentence that says what to do.
func (u *User) Validate() error {
	address, err := mail.ParseAddress(u.Email)
	if err != nil || address.Address != u.Email || utf8.RuneCountInString(u.Email) > maxEmail {
		return errors.New("email is not an e-mail address: write it bare, such as ada@example.com")
	}
	for member, text := range map[string]string{"email": u.Email, "name": u.Name, "givenName": u.GivenName,
		"familyName": u.FamilyName} {
		if err := checkText(member, text); err != nil {
			return err
		}
	}
	return checkGroups(u.Groups, false)
}

var clientID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,255}$`)

// Validate returns what is wrong with a client, or nil. The error is a sentence that says what to do.
func (c *Client) Validate() error {
	switch {
	case !clientID.MatchString(c.ID):
		return errors.New("id is not a client id: use 1 to 255 of the characters A-Z, a-z, 0-9, ., _ and -")
	case c.ID == "." || c.ID == "..": // it can't stand in a path of the management API
		return errors.New("id is only . or .., which an address can't hold: choose another")
	case c.Name == "":
		return errors.New("name is missing: write what people know the application as")
	case !slices.Contains(Algorithms, c.Algorithm):
		return errors.New("algorithm is unknown: use RS256 or ES256")
	case len(c.RedirectURIs) == 0:
		return errors.New(
			"redirectUris is empty: write where people are sent after signing in, such as https://app.example.com/callback")
	case len(c.RedirectURIs) > maxURIs || len(c.LogoutURIs) > maxURIs:
		return fmt.Errorf("there are too many addresses: use at most %d", maxURIs)
	}
	all := slices.Concat(c.RedirectURIs, c.LogoutURIs)
	if c.BackchannelLogoutURI != "" {
		all = append(all, c.BackchannelLogoutURI)
	}
	for _, uri := range all {
		if err := ValidateRedirectURI(uri); err != nil {
			return err
		}
	}
	if err := checkGroups(c.Groups, true); err != nil {
		return err
	}
	return checkText("name", c.Name)
}

// answers are the parameters of the answers that come to a redirect URI (RFC 6749 section 4.1.2, RFC 9207 section 2).
var answers = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// ValidateRedirectURI returns what is wrong with a redirect URI, or nil. It must be https, or http on this machine,
// absolute, without a fragment (RFC 6749 section 3.1.2, RFC 9700 section 2.1), with a possible host, and without the
// parameters of an answer.
func ValidateRedirectURI(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(s) > maxURI ||
		strings.ContainsFunc(s, notInURI):
		return fmt.Errorf("%q is not a redirect URI: write one such as https://app.example.com/callback", s)
	case u.User != nil || strings.Contains(s, "#"):
		return fmt.Errorf("%q has a user name or a fragment: leave it out", s)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("%q is not encrypted: use https; http is for localhost alone", s)
	case !possibleHost(u.Hostname()) || !possiblePort(u.Port()):
		return fmt.Errorf("%q has an impossible host or port: write one such as https://app.example.com/callback", s)
	case strings.Contains(u.Path, "*"):
		return fmt.Errorf("%q has a * in its path: addresses are compared byte for byte, so write each of them out", s)
	}
	for name := range u.Query() {
		if slices.Contains(answers, name) {
			return fmt.Errorf("%q has the parameter %s, which is one of an answer: use another name", s, name)
		}
	}
	return nil
}

func possibleHost(host string) bool {
	if net.ParseIP(host) != nil {
		return true
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	return !slices.Contains(labels, "") && !strings.ContainsAny(host, "*:")
}

func possiblePort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// notInURI reports whether a character has to be percent-encoded in a URI, or browsers read it differently.
func notInURI(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}`+"`", r) }

// loopback reports whether a host is this machine: names below localhost are, too (RFC 6761 section 6.3).
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// Tidy turns a name from another system into one that Check accepts.
func Tidy(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if runes := []rune(name); len(runes) > maxText {
		name = strings.TrimSpace(string(runes[:maxText]))
	}
	return name
}

func checkText(member, s string) error {
	switch {
	case !utf8.ValidString(s):
		return fmt.Errorf("%s is not valid UTF-8: encode it as UTF-8", member)
	case utf8.RuneCountInString(s) > maxText:
		return fmt.Errorf("%s is longer than %d characters: shorten it", member, maxText)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s has control characters: leave them out", member)
	}
	return nil
}
