package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/problem"
)

// readQuery reads the query parameters of a request that knows some: each at most once, and no other.
func (r *Request) readQuery(known []string) (url.Values, error) {
	q, err := r.ReadQueries(known)
	for name, values := range q {
		if len(values) > 1 {
			return nil, problem.Newf(http.StatusBadRequest, "the query parameter %s is there more than once", name)
		}
	}
	return q, err
}

// ReadQueries is readQuery for parameters that may be repeated.
func (r *Request) ReadQueries(known []string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, "the query can't be read: percent-encode its values")
	}
	for name, values := range q {
		switch {
		case len(known) == 0:
			return nil, problem.New(http.StatusBadRequest, "this address takes no query parameters")
		case !slices.Contains(known, name):
			return nil, problem.Newf(http.StatusBadRequest, "the query parameter %.40q is unknown here; known are %s", name,
				strings.Join(known, ", "))
		}
		for _, value := range values {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				return nil, problem.Newf(http.StatusBadRequest, "the query parameter %s is not text", name)
			}
		}
	}
	return q, nil
}

// Number reads a query parameter that is a number from 1 to a bound; 0 without it.
func Number(q url.Values, name string, most int) (int, error) {
	if !q.Has(name) {
		return 0, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 1 || n > most {
		return 0, problem.Newf(http.StatusBadRequest, "%s must be a number from 1 to %d", name, most)
	}
	return n, nil
}

// Instant reads a query parameter that is a time; zero without it.
func Instant(q url.Values, name string) (time.Time, error) {
	if !q.Has(name) {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, q.Get(name))
	if err != nil || t.Year() < 1970 || t.Year() > 2200 {
		return time.Time{}, problem.Newf(http.StatusBadRequest,
			"%s must be a time such as 2026-11-20T12:00:00Z (RFC 3339); percent-encode a +", name)
	}
	return t, nil
}
