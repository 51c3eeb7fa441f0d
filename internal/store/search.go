package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/store/rows"
)

// ErrOtherSearch says that a cursor is of a list, or of another search.
var ErrOtherSearch = errors.New("this cursor is of another search")

// interval is a range of words, both ends included. A whole word is one, and so is a prefix.
type interval struct{ from, to string }

// term is a condition of a search: a row has a word in one of the intervals.
type term struct {
	kind      string
	intervals []interval // in order
}

// maxText is behind all words that begin as what is before it.
const maxText = "\U0010ffff"

// whole is a term for a whole word.
func (c collection[T]) whole(k *dataKeys, tenant string, w searchWord) (term, error) {
	t := term{kind: w.kind, intervals: []interval{{w.word, w.word}}}
	if c.part == "" {
		return t, nil
	}
	forms, err := k.forms(tenant, w)
	t.intervals = nil
	for _, form := range forms {
		t.intervals = append(t.intervals, interval{form, form})
	}
	return t, err
}

// terms returns a term for each word of a text: a row has a word that begins so. Of sealed words, only whole ones are
// found.
func (c collection[T]) terms(k *dataKeys, tenant, kind, text string) (all []term, err error) {
	words := wordsOf(text)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) }) // the longest one has the fewest rows
	for _, word := range words {
		t, err := c.whole(k, tenant, searchWord{kind, word})
		if err != nil {
			return nil, err
		}
		for n, i := range t.intervals {
			if i.from == word {
				t.intervals[n].to = word + maxText
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// searchMark begins the cursor of a search, and stands between its word and its id. No id has it.
const searchMark = "\x01"

// IsSearch reports whether a cursor is of a search, not of a list by id.
func IsSearch(cursor string) bool { return strings.HasPrefix(cursor, searchMark) }

// place is where a row stands in a search: by word, then by id.
type place struct{ word, id string }

// maxSearched is how many rows of the first term are looked at for a page.
const maxSearched = 20_000

// search reads a page of a tenant's resources that have all terms, of which there is one at least, by the words of the
// first term. A page may be shorter than was asked for before the last one.
func (c collection[T]) search(ctx context.Context, db *DB, tenant string, terms []term, p Page) (page []*T, next string, err error) {
	var after place
	intervals := slices.Clone(terms[0].intervals)
	slices.SortFunc(intervals, func(a, b interval) int { return strings.Compare(a.from, b.from) })
	if p.After != "" {
		after.word, after.id, _ = strings.Cut(strings.TrimPrefix(p.After, searchMark), searchMark)
		at := slices.IndexFunc(intervals, func(i interval) bool { return i.from <= after.word && after.word <= i.to })
		if at < 0 {
			return nil, "", ErrOtherSearch
		}
		intervals = intervals[at:]
	}
	left := pageData
	for _, i := range intervals {
		found, last, err := c.searchIn(ctx, db, tenant, terms, i, after, p.Size()+1-len(page), &left)
		if err != nil {
			return nil, "", err
		}
		page = append(page, found...)
		if last != nil {
			return page, searchMark + last.word + searchMark + last.id, nil
		}
		after = place{}
	}
	return page, "", nil
}

// searchIn reads what is in an interval. last is where it stopped before the end of it: nil: it did not.
func (c collection[T]) searchIn(ctx context.Context, db *DB, tenant string, terms []term, i interval, after place, size int,
	left *int) (page []*T, last *place, err error) {
	where := conditions{}
	where.is("w.tenant =", tenant)
	where.is("w.kind =", terms[0].kind)
	where.is("w.word >=", max(i.from, after.word))
	where.is("w.word <=", i.to)
	if after != (place{}) {
		where.args = append(where.args, after.word, after.id)
		where.where = append(where.where, fmt.Sprintf("(w.word, w.id) > ($%d, $%d)", len(where.args)-1, len(where.args)))
	}
	if len(terms) > 1 {
		bound, there, err := rows.First(rows.Query(ctx, db.reads, func(r row) (p place, err error) {
			err = r.Scan(&p.word, &p.id)
			return p, err
		}, `SELECT w.word, w.id FROM search_words w`+where.String()+fmt.Sprintf(` ORDER BY w.word, w.id LIMIT 1 OFFSET %d`, maxSearched-1),
			slices.Clip(where.args)...))
		if err != nil {
			return nil, nil, err
		}
		if there {
			last = &bound
			where.args = append(where.args, bound.word, bound.id)
			where.where = append(where.where, fmt.Sprintf("(w.word, w.id) <= ($%d, $%d)", len(where.args)-1, len(where.args)))
		}
	}
	for _, t := range terms[1:] {
		where.where = append(where.where, t.condition(&where))
	}
	if i.from != i.to { // one with two words that begin so is found by the first
		where.where = append(where.where, fmt.Sprintf(`NOT EXISTS (SELECT 1 FROM search_words s WHERE s.tenant = $1
			AND s.id = w.id AND `+kindOf("s")+` = $2 AND s.word >= $%d AND s.word < w.word)`, len(where.args)+1))
		where.args = append(where.args, i.from)
	}
	args := append(where.args, size)
	type foundResource struct {
		keptResource
		at place
	}
	cut := false
	found, err := rows.Query(ctx, db.reads, func(r row) (f foundResource, err error) {
		if cut = *left <= 0; cut {
			return f, rows.ErrStop
		}
		err = r.Scan(&f.at.word, &f.Tenant, &f.id, &f.Version, rows.Time(&f.CreatedAt), rows.Time(&f.UpdatedAt), &f.data)
		f.at.id = f.id
		*left -= len(f.data)
		return f, err
	}, `SELECT w.word, c.tenant, c.id, c.version, c.created_at, c.updated_at, c.data FROM search_words w
		JOIN `+c.table+` c ON c.tenant = w.tenant AND c.id = w.id`+where.String()+fmt.Sprintf(`
		ORDER BY w.word, w.id LIMIT $%d`, len(args)), args...)
	if err != nil {
		return nil, nil, err
	}
	if len(found) == size {
		found, cut = found[:size-1], true
	}
	kept := make([]keptResource, len(found))
	for n, f := range found {
		kept[n] = f.keptResource
	}
	if cut {
		last = &after // nothing fits: the page is full
		if len(found) > 0 {
			last = &found[len(found)-1].at
		} else if after == (place{}) {
			last = &place{i.from, ""}
		}
	}
	page, err = c.open(db.opening(ctx), kept, nil)
	return page, last, err
}

// kindOf is the kind of a word of a row that is looked up by its id, written so that no index has it. PostgreSQL without
// statistics, as after an import, would take the words of a kind for few, and compare all of them for each row.
func kindOf(words string) string { return words + ".kind || ''" }

// condition is that a row has the term, beside w.
func (t term) condition(c *conditions) string {
	c.args = append(c.args, t.kind)
	head := fmt.Sprintf(`EXISTS (SELECT 1 FROM search_words o WHERE o.tenant = $1 AND o.id = w.id AND `+kindOf("o")+` = $%d AND (`, len(c.args))
	var any []string
	for _, i := range t.intervals {
		c.args = append(c.args, i.from, i.to)
		any = append(any, fmt.Sprintf(`o.word BETWEEN $%d AND $%d`, len(c.args)-1, len(c.args)))
	}
	return head + strings.Join(any, " OR ") + `))`
}
