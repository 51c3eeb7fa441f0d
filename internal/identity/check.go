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

// maxText is the length of a name, an e-mail address or a client's id, in characters; maxURI that of an address, in bytes.
const (
	maxText = 255
	maxURI  = 2 << 10
	maxURIs = 50
)

// Fold is an e-mail address as it is looked up: browsers send the A-labels of a domain (RFC 5890) from a field for e-mail addresses,
// whatever was typed. What it finds for somebody who shows a password is theirs; where an address alone is to show whose something is,
// SameAddress decides.
func Fold(email string) string {
	email = strings.TrimSpace(email)
	if at := strings.LastIndexByte(email, '@'); at >= 0 {
		if domain, err := idna.Lookup.ToUnicode(email[at+1:]); err == nil && domain != "" {
			email = email[:at+1] + domain
		}
	}
	return cases.Fold().String(email)
}

// Check says what is wrong with a user, or nil. The error is a sentence that says what to do.
func (u *User) Check() error {
	address, err := mail.ParseAddress(u.Email)
	if err != nil || address.Address != u.Email || utf8.RuneCountInString(u.Email) > maxText {
		return errors.New("email is not an e-mail address: write it bare, such as ada@example.com")
	}
	for member, text := range map[string]string{"email": u.Email, "name": u.Name, "givenName": u.GivenName, "familyName": u.FamilyName} {
		if err := checkText(member, text); err != nil {
			return err
		}
	}
	return nil
}

var clientID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,255}$`)

// Check says what is wrong with a client, or nil. The error is a sentence that says what to do.
func (c *Client) Check() error {
	switch {
	case !clientID.MatchString(c.ID):
		return errors.New("id is no client id: use 1 to 255 of the characters A-Z, a-z, 0-9, ., _ and -")
	case c.ID == "." || c.ID == "..": // the address of the management API that would change or disable it leads elsewhere
		return errors.New("id is only . or .., which an address can't hold: choose another")
	case c.Name == "":
		return errors.New("name is missing: write what people know the application as")
	case !slices.Contains(Algorithms, c.Algorithm):
		return errors.New("algorithm is unknown: use RS256 or ES256")
	case len(c.RedirectURIs) == 0:
		return errors.New("redirectUris is empty: write where people are sent after signing in, such as https://app.example.com/callback")
	case len(c.RedirectURIs) > maxURIs || len(c.LogoutURIs) > maxURIs:
		return fmt.Errorf("there are too many addresses: use at most %d", maxURIs)
	}
	for _, uri := range slices.Concat(c.RedirectURIs, c.LogoutURIs) {
		if err := CheckRedirectURI(uri); err != nil {
			return err
		}
	}
	return checkText("name", c.Name)
}

// answers are the parameters of the answers that come to a redirect URI (RFC 6749 section 4.1.2, RFC 9207 section 2).
var answers = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// CheckRedirectURI says what is wrong with an address that people may be sent to, or nil: it is https, or http on this machine,
// absolute and without a fragment (RFC 6749 section 3.1.2, RFC 9700 section 2.1), of a host that there can be, and without what an
// answer adds to it.
func CheckRedirectURI(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || len(s) > maxURI || strings.ContainsFunc(s, notInURI):
		return fmt.Errorf("%q is no address to send people to: write one such as https://app.example.com/callback", s)
	case u.User != nil || strings.Contains(s, "#"):
		return fmt.Errorf("%q has a user name or a fragment: leave it out", s)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("%q is not encrypted: use https; http is for localhost alone", s)
	case !possibleHost(u.Hostname()) || !possiblePort(u.Port()):
		return fmt.Errorf("%q has a host or a port that there can't be: write one such as https://app.example.com/callback", s)
	case strings.Contains(u.Path, "*"):
		return fmt.Errorf("%q has a * in its path: addresses are compared byte for byte, so write each of them out", s)
	}
	for name := range u.Query() {
		if slices.Contains(answers, name) {
			return fmt.Errorf("%q has the parameter %s, which answers have: use another name", s, name)
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

// notInURI tells whether a character has to be percent-encoded in a URI; what browsers read otherwise than we do is among them.
func notInURI(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}`+"`", r) }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Tidy makes a name of what others wrote: one that Check takes.
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
