package store

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/hiregate/hiregate/internal/model"
)

// Kinds of words that rows are found by.
const (
	emailWord = "email"
	nameWord  = "name"
	phoneWord = "phone"
	textWord  = "text"  // of a job
	stateWord = "state" // of a job
)

// Bounds of the words of a row: a name may have 64 KiB.
const (
	maxWords   = 64
	maxWord    = 64 // bytes
	phoneWidth = 9  // digits of a phone number that are compared, from its end
)

// letters replaces letters that have a mark and no decomposition, and drops apostrophes.
var letters = strings.NewReplacer("ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "æ", "ae", "œ", "oe", "ı", "i", "ħ", "h",
	"'", "", "’", "", "ʼ", "")

// wordsOf returns the words of texts, as they are compared: in any script, without marks and the case of letters.
func wordsOf(texts ...string) (all []string) {
	for _, text := range texts {
		plain, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), text)
		if err != nil {
			continue
		}
		plain = letters.Replace(norm.NFC.String(cases.Fold().String(plain)))
		for _, word := range strings.FieldsFunc(plain, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
		}) {
			if len(word) > maxWord {
				word = strings.ToValidUTF8(word[:maxWord], "")
			}
			if len(all) < maxWords && !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	return all
}

// phoneDigits returns the digits of a phone number, in any script, without the zeros before it, which only some write.
func phoneDigits(number string) string {
	return strings.TrimLeft(strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return r
		case r >= '٠' && r <= '٩':
			return r - '٠' + '0'
		case r >= '۰' && r <= '۹':
			return r - '۰' + '0'
		case r >= '०' && r <= '९':
			return r - '०' + '0'
		}
		return -1
	}, strings.ReplaceAll(norm.NFKC.String(number), "(0)", "")), "0")
}

// phoneKey returns the end of a phone number: with the code of the country or without, it is the same.
func phoneKey(number string) string {
	digits := phoneDigits(number)
	return digits[max(0, len(digits)-phoneWidth):]
}

// samePhone reports whether two phone numbers are the same, but for what is in front of one of them.
func samePhone(a, b string) bool {
	a, b = phoneDigits(a), phoneDigits(b)
	return a != "" && b != "" && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}

// wordsOfCandidate returns what a candidate is found by.
func wordsOfCandidate(c *model.Candidate) (all []searchWord) {
	for _, word := range wordsOf(c.Name.Formatted, c.Name.Given, c.Name.Family) {
		all = append(all, searchWord{nameWord, word})
	}
	for _, email := range c.Email {
		all = append(all, searchWord{emailWord, emailKey(email)})
	}
	for _, phone := range c.Phone {
		all = append(all, searchWord{phoneWord, phoneKey(phone)})
	}
	return all
}

// wordsOfJob returns what a job is found by.
func wordsOfJob(j *model.Job) []searchWord {
	all := []searchWord{{stateWord, stateOf(j.Closed)}}
	for _, word := range wordsOf(j.Title, j.BoardCode, j.ID) {
		all = append(all, searchWord{textWord, word})
	}
	return all
}

func stateOf(closed bool) string {
	if closed {
		return "closed"
	}
	return "open"
}

// kinds of the words of candidates and jobs.
const (
	candidateKinds = `('` + nameWord + `', '` + emailWord + `', '` + phoneWord + `')`
	jobKinds       = `('` + textWord + `', '` + stateWord + `')`
)

// deleteWords deletes the words of a resource.
func (c collection[T]) deleteWords(tx *Tx, tenant, id string) error {
	return tx.sql.Run(`DELETE FROM search_words WHERE tenant = $1 AND id = $2 AND kind IN `+c.kinds, tenant, id)
}

// insertWords inserts the words of a resource, hashed where that is sealed.
func (c collection[T]) insertWords(tx *Tx, v *T) error {
	id, row, _ := c.of(v)
	for _, w := range c.words(v) {
		if w.word == "" {
			continue
		}
		word := w.word
		if c.part != "" {
			var err error
			if word, err = tx.db.dataKeys.hashed(row.Tenant, w); err != nil {
				return err
			}
		}
		if err := tx.sql.Run(`INSERT INTO search_words (tenant, kind, word, id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			row.Tenant, w.kind, word, id); err != nil {
			return err
		}
	}
	return nil
}

// unworded is a query of those whose words are not there, or not hashed, yet.
func (c collection[T]) unworded() string {
	return `SELECT tenant, id FROM ` + c.table + ` WHERE NOT worded ORDER BY tenant, id LIMIT $1`
}

// complete writes the words of a resource. One that can't be read is found by none.
func (c collection[T]) complete(tx *Tx, at resourceRef) error {
	// It also locks the row: what is read below stays.
	if err := tx.sql.Run(`UPDATE `+c.table+` SET worded = TRUE WHERE tenant = $1 AND id = $2`, at.tenant, at.id); err != nil {
		return err
	}
	if err := c.deleteWords(tx, at.tenant, at.id); err != nil {
		return err
	}
	v, ok, err := c.find(tx, at.tenant, at.id)
	if err != nil || !ok {
		return ignoreUnreadable(err)
	}
	return c.insertWords(tx, v)
}
