package manageapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// page is the part of a list that is asked for.
type page struct {
	kind  string // of list: a cursor is good for no other
	limit int
	after string // where the page before ended; empty: it is the first one
}

// readPage reads the query of a list that knows some parameters beside limit and cursor.
func (r *request) readPage(kind string, known []string) (q url.Values, p page, err error) {
	p = page{kind: kind, limit: store.DefaultPage}
	if q, err = r.readQuery(slices.Concat(known, []string{"cursor", "limit"})); err != nil {
		return nil, p, err
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > store.MaxPage {
			return nil, p, problem.Newf(http.StatusBadRequest, "limit must be a number from 1 to %d", store.MaxPage)
		}
		p.limit = n
	}
	if q.Has("cursor") {
		raw, err := base64.RawURLEncoding.DecodeString(q.Get("cursor"))
		after, ok := strings.CutPrefix(string(raw), kind+":")
		if err != nil || !ok || after == "" {
			return nil, p, noCursor()
		}
		p.after = after
	}
	return q, p, nil
}

func noCursor() error {
	return problem.New(http.StatusBadRequest, "this is no cursor: take the next of the page before, as it is")
}

// rows asks the store for a page that is ordered by id.
func (p page) rows() store.Page { return store.Page{After: p.after, Limit: p.limit} }

// number is where the page before ended, in a list that is ordered by a number; 0: it is the first page.
func (p page) number() (int64, error) {
	if p.after == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(p.after, 10, 64)
	if err != nil || n <= 0 {
		return 0, noCursor()
	}
	return n, nil
}

// cursor is where the page after this one begins; nil on the last one.
func (p page) cursor(next string) *string {
	if next == "" {
		return nil
	}
	s := base64.RawURLEncoding.EncodeToString([]byte(p.kind + ":" + next))
	return &s
}

// numbered is where a page ends in a list that is ordered by a number; 0: it is the last page.
func numbered(next int64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatInt(next, 10)
}

// listed makes a page of what the store gave.
func listed[T any](p page, rows []T, next string, view func(T) any) api.List[any] {
	l := api.List[any]{Items: make([]any, len(rows)), Next: p.cursor(next)}
	for n, one := range rows {
		l.Items[n] = view(one)
	}
	return l
}

// part is the page of a list that is there as a whole, ordered by key.
func part[T any](p page, all []T, key func(T) string) (rows []T, next string) {
	begin, _ := slices.BinarySearchFunc(all, p.after, func(one T, after string) int {
		if key(one) <= after {
			return -1
		}
		return 1
	})
	if p.after != "" {
		all = all[begin:]
	}
	if len(all) <= p.limit {
		return all, ""
	}
	return all[:p.limit], key(all[p.limit-1])
}
