package commands

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// parseTarget checks the URL that somebody typed. It goes no further than saying what can't be meant: send may be
// pointed at anything, including what a receiver should refuse.
func parseTarget(arg string) (*url.URL, error) {
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
		return nil, fmt.Errorf("%q is not a URL: %w", arg, cause(err))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s:// can't be sent to: the URL must begin with http:// or https://", u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("%q names no host: write it like https://gate.example.com/hooks/acme", arg)
	case u.User != nil:
		return nil, fmt.Errorf("the URL carries user information before the @: leave it out, the signature is what authenticates")
	}
	u.Fragment = ""
	return u, nil
}

// parseRate reads --rate: "200/s", "30/m", or "200", which is a second's.
// The empty string is no limit.
func parseRate(s string) (rate.Limit, error) {
	if s == "" {
		return rate.Inf, nil
	}
	number, unit, _ := strings.Cut(s, "/")
	per := map[string]time.Duration{"": time.Second, "s": time.Second, "m": time.Minute}[unit]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || per == 0 || !(n > 0 && n <= 1e6) {
		return 0, fmt.Errorf("--rate %q is not a rate: write it like 200/s or 30/m", s)
	}
	return rate.Limit(n / per.Seconds()), nil
}
