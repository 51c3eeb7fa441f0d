package manage

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// query reads the query parameters of a request that knows some: each at most once, and no other.
func (r *request) query(known ...string) (url.Values, *problem.Problem) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, "the query can't be read: percent-encode its values")
	}
	for name, values := range q {
		switch {
		case len(known) == 0:
			return nil, problem.New(http.StatusBadRequest, "this address takes no query parameters")
		case !slices.Contains(known, name):
			return nil, problem.New(http.StatusBadRequest, fmt.Sprintf("the query parameter %.40q is unknown here; known are %s", name, strings.Join(known, ", ")))
		case len(values) > 1:
			return nil, problem.New(http.StatusBadRequest, fmt.Sprintf("the query parameter %s is there more than once", name))
		case !utf8.ValidString(values[0]) || strings.ContainsRune(values[0], 0):
			return nil, problem.New(http.StatusBadRequest, fmt.Sprintf("the query parameter %s is not text", name))
		}
	}
	return q, nil
}

var outcomes = []hiring.Outcome{hiring.Pending, hiring.Retrying, hiring.Held, hiring.Delivered, hiring.Failed, hiring.Expired}

// filter reads which exports are asked for, of all tenants.
func (r *request) filter() (f store.ExportFilter, p *problem.Problem) {
	q, p := r.query("outcome", "integration", "candidate", "quarantined", "cursor", "limit")
	if p != nil {
		return f, p
	}
	f = store.ExportFilter{
		Outcome: hiring.Outcome(q.Get("outcome")), Integration: q.Get("integration"), Candidate: q.Get("candidate"), Limit: store.DefaultPage,
	}
	if f.Outcome != "" && !slices.Contains(outcomes, f.Outcome) {
		return f, problem.New(http.StatusBadRequest, fmt.Sprintf("there is no such outcome; the outcomes are %s", joined(outcomes)))
	}
	if q.Has("quarantined") {
		if f.Quarantined = q.Get("quarantined") == "true"; !f.Quarantined {
			return f, problem.New(http.StatusBadRequest, "quarantined can only be true: leave it out for all exports")
		}
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > store.MaxPage {
			return f, problem.New(http.StatusBadRequest, fmt.Sprintf("limit must be a number from 1 to %d", store.MaxPage))
		}
		f.Limit = n
	}
	if q.Has("cursor") {
		before, ok := readCursor(q.Get("cursor"))
		if !ok {
			return f, problem.New(http.StatusBadRequest, "this is no cursor: take the next of the page before, as it is")
		}
		f.Before = before
	}
	return f, nil
}

func joined(all []hiring.Outcome) string {
	words := make([]string, len(all))
	for n, o := range all {
		words[n] = string(o)
	}
	return strings.Join(words, ", ")
}

// cursorPrefix tells our cursors from anything else, and from those of another kind of list.
const cursorPrefix = "export:"

// cursor is where the page after an export begins; nil after the last page.
func cursor(before int64) *string {
	if before == 0 {
		return nil
	}
	s := base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix + strconv.FormatInt(before, 10)))
	return &s
}

func readCursor(s string) (before int64, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return 0, false
	}
	id, ok := strings.CutPrefix(string(raw), cursorPrefix)
	if !ok {
		return 0, false
	}
	before, err = strconv.ParseInt(id, 10, 64)
	return before, err == nil && before > 0
}
