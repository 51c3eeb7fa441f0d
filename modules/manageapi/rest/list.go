package rest

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

// Page is the part of a list that is asked for.
type Page struct {
	kind  string // of list: a cursor is valid for no other
	Limit int
	After string // where the page before ended; empty: it is the first one
}

// readPage reads the query of a list that knows some parameters beside limit and cursor.
func (r *Request) readPage(kind string, known []string) (q url.Values, p Page, err error) {
	p = Page{kind: kind, Limit: store.DefaultPage}
	if q, err = r.readQuery(slices.Concat(known, []string{"cursor", "limit"})); err != nil {
		return nil, p, err
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > store.MaxPage {
			return nil, p, problem.Newf(http.StatusBadRequest, "limit must be a number from 1 to %d", store.MaxPage)
		}
		p.Limit = n
	}
	if q.Has("cursor") {
		raw, err := base64.RawURLEncoding.DecodeString(q.Get("cursor"))
		of, after, _ := strings.Cut(string(raw), ":")
		switch {
		case err != nil || after == "":
			return nil, p, NoCursor()
		case of != kind:
			return nil, p, OtherList()
		}
		p.After = after
	}
	return q, p, nil
}

// NoCursor returns the problem (400) of a cursor that no page has.
func NoCursor() error {
	return problem.New(http.StatusBadRequest, "this is no cursor: take the next of the page before, as it is")
}

// OtherList returns the problem (410) of a cursor of another list.
func OtherList() error {
	return problem.New(http.StatusGone, "this cursor is of another list, or of an earlier release: begin again without one").
		WithCode("cursor-of-another-list")
}

// Rows returns the page as the store reads it, of a list that is ordered by id.
func (p Page) Rows() store.Page { return store.Page{After: p.After, Limit: p.Limit} }

// Number returns the end of the page before, in a list that is ordered by a number; 0: it is the first page.
func (p Page) Number() (int64, error) {
	if p.After == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(p.After, 10, 64)
	if err != nil || n <= 0 {
		return 0, NoCursor()
	}
	return n, nil
}

// Cursor returns the cursor of the next page; nil on the last one.
func (p Page) Cursor(next string) *string {
	if next == "" {
		return nil
	}
	s := base64.RawURLEncoding.EncodeToString([]byte(p.kind + ":" + next))
	return &s
}

// Numbered returns the end of a page in a list that is ordered by a number; 0: it is the last page.
func Numbered(next int64) string {
	if next == 0 {
		return ""
	}
	return strconv.FormatInt(next, 10)
}

// Listed makes a page of what the store returned.
func Listed[T any](p Page, rows []T, next string, view func(T) any) api.List[any] {
	l := api.List[any]{Items: make([]any, len(rows)), Next: p.Cursor(next)}
	for n, one := range rows {
		l.Items[n] = view(one)
	}
	return l
}

// PageOf cuts one page out of a complete list that is sorted by key.
func PageOf[T any](p Page, all []T, key func(T) string) (rows []T, next string) {
	begin, _ := slices.BinarySearchFunc(all, p.After, func(one T, after string) int {
		if key(one) <= after {
			return -1
		}
		return 1
	})
	if p.After != "" {
		all = all[begin:]
	}
	if len(all) <= p.Limit {
		return all, ""
	}
	return all[:p.Limit], key(all[p.Limit-1])
}
