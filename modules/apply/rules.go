package apply

import (
	"net/mail"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
)

var number = regexp.MustCompile(`^[+-]?\d+(\.\d+)?$`)

// checkText checks an answer that is no file and not blank. It gives its values, or what is wrong.
func checkText(q *hiring.Question, s string) (values []string, fault string) {
	one := []string{s}
	switch q.Format {
	case hiring.Select:
		for _, o := range q.Options {
			if o == s {
				return one, ""
			}
		}
		return nil, "choose exactly one of the options"
	case hiring.Checkbox:
		return checkChoices(q.Options, s)
	case hiring.Date:
		if !hiring.IsDate(s) {
			return nil, "write a day that exists, as YYYY-MM-DD"
		}
	case hiring.Number:
		if len(s) > 64 || !number.MatchString(s) {
			return nil, "write a number, such as 3 or 2.5"
		}
	case hiring.Phone:
		digits := 0
		for _, c := range s {
			if '0' <= c && c <= '9' {
				digits++
			}
		}
		if digits < 7 {
			return nil, "at least 7 digits are needed"
		}
		if utf8.RuneCountInString(s) > 64 {
			return nil, "at most 64 characters are allowed"
		}
	}
	if q.MaxLength != nil && utf8.RuneCountInString(s) > *q.MaxLength {
		return nil, "at most " + strconv.Itoa(*q.MaxLength) + " characters are allowed"
	}
	if q.ID == "email" || q.Check == hiring.CheckEmail {
		if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
			return nil, "write a valid e-mail address"
		}
	}
	return one, ""
}

func checkChoices(options []string, s string) ([]string, string) {
	var parts []string
	var part strings.Builder
	for n := 0; n < len(s); n++ {
		switch {
		case s[n] == '\\' && n+1 < len(s) && s[n+1] == '|':
			part.WriteByte('|')
			n++
		case s[n] == '|':
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(s[n])
		}
	}
	parts = append(parts, part.String())
	seen := map[string]bool{}
	var chosen []string
	for _, p := range parts {
		found := ""
		for _, read := range []string{p, strings.ReplaceAll(p, `\\`, `\`)} {
			for _, o := range options {
				if found == "" && o == read {
					found = o
				}
			}
		}
		if found == "" || seen[found] {
			return nil, "choose one or more of the options, each once, with a pipe character between them"
		}
		seen[found] = true
		chosen = append(chosen, found)
	}
	return chosen, ""
}

func typeOf(q *hiring.Question, blob *documents.Blob, files *documents.Files) (mediaType, extension string, err error) {
	switch blob.Detected {
	case "application/pdf":
		return blob.Detected, ".pdf", nil
	case "text/plain":
		return blob.Detected, ".txt", nil
	case "image/png":
		if q.ID != resume {
			return blob.Detected, ".png", nil
		}
	}
	return "", "", nil
}
