package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ValidateURL decides whether an integration's URL can be saved: https, or http to an address that the policy allows;
// with an identifier of the receiver, which is a path segment or the value of a query parameter; without fragment,
// user name and password. An IP address is checked here and now; a host name only for its scheme and port, the rest
// when it is dialled.
//
// Errors are sentences for the person who entered the URL. They have neither its path nor its query, which may be
// credentials.
func (g *Guard) ValidateURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme == "" || u.Opaque != "":
		return errors.New("the URL can't be read: write it as https://host/path")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the URL's scheme is %s: use https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("the URL has no host: write it as https://host/path")
	case u.User != nil:
		return errors.New("the URL has a user name or password in it: leave them out, deliveries are told by their signature")
	case strings.Contains(raw, "#"): // also an empty fragment, which url.URL does not show
		return errors.New("the URL has a fragment, which is never sent: leave out the # and what follows")
	case !HasIdentifier(u):
		return errors.New("the URL has no identifier of the receiver: add a path segment or a query parameter with a " +
			"value, as in https://host/inbound?client=acme")
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		refused := new(RefusedError)
		if err := g.check(u.Scheme, netip.AddrPortFrom(ip, port)); errors.As(err, &refused) {
			return errors.New(refused.Detail()) // they wrote the address themselves
		}
		return nil
	}
	return g.checkNamed(u.Scheme, port)
}

// checkNamed refuses what no address behind a host name could make right.
func (g *Guard) checkNamed(scheme string, port uint16) error {
	open := port == 80 || port == 443
	switch {
	case g.policy.coversPort(port), scheme == "https" && open:
		return nil
	case open:
		return errors.New("the URL is plain http: use https, or let the operator allow the host's " +
			"address with `egress allow`")
	default:
		return fmt.Errorf("the URL's port is %d: use 443, or let the operator allow the host's address with `egress allow`",
			port)
	}
}

// HasIdentifier reports whether a URL has an identifier of the receiver: a path segment or the value of a query parameter
// (contract, Endpoints, B).
func HasIdentifier(u *url.URL) bool {
	if strings.Trim(u.Path, "/") != "" {
		return true
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if v != "" {
				return true
			}
		}
	}
	return false
}

func portOf(u *url.URL) (uint16, error) {
	switch text := u.Port(); {
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return 0, errors.New("the URL's port is out of range: leave it out for 443, or use a number from 1 to 65535")
		}
		return uint16(port), nil
	case u.Scheme == "http":
		return 80, nil
	default:
		return 443, nil
	}
}
