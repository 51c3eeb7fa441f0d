package terminal

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// ParseTarget parses the URL of a server that was typed as a flag or an argument. It rejects only what can't be sent
// to: send may be pointed at anything, including what a receiver should refuse.
func ParseTarget(arg string) (*url.URL, error) {
	if !strings.Contains(arg, "://") {
		scheme := "https"
		host, _, _ := strings.Cut(arg, "/")
		host, _, _ = strings.Cut(host, ":")
		if _, err := netip.ParseAddr(host); err == nil || host == "localhost" || host == "" || strings.HasPrefix(host, "[") {
			scheme = "http"
		}
		if host == "" || strings.HasPrefix(arg, ":") {
			arg = "localhost" + arg
		}
		return nil, fmt.Errorf("the URL has no scheme: did you mean %s://%s?", scheme, arg)
	}
	u, err := url.Parse(arg)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a URL: %w", arg, Cause(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s:// can't be sent to: the URL must begin with http:// or https://", u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host: write it like https://gate.example.com/hooks/acme", arg)
	case u.User != nil:
		return nil, fmt.Errorf(
			"the URL carries user information before the @: leave it out, the signature is what authenticates")
	}
	u.Fragment = ""
	return u, nil
}
