package schemas

import (
	"regexp"

	"github.com/xeipuuv/gojsonschema"
)

// The library's own "date" and "date-time" are RFC 3339; these are the contract's field types date and datetime.
const (
	dateFormat     = "contract-date"
	datetimeFormat = "contract-datetime"
	isoFormat      = "iso-8601" // of deviations: a calendar day, with or without a time of day

	dateLength     = len("2006-01-02")
	datetimeLength = len("2006-01-02 15:04:05")
)

func init() {
	// The library knows formats by name and for the whole process only.
	gojsonschema.FormatCheckers.Add(dateFormat, format(isDate))
	gojsonschema.FormatCheckers.Add(datetimeFormat, format(isDatetime))
	gojsonschema.FormatCheckers.Add(isoFormat, format(isISO))
}

// format checks strings. What is no string passes here, and fails at the schema's type.
type format func(string) bool

func (f format) IsFormat(v any) bool {
	s, ok := v.(string)
	return !ok || f(s)
}

// isDate reports whether s is a calendar day as YYYY-MM-DD, from year 1 on.
func isDate(s string) bool {
	if len(s) != dateLength || s[4] != '-' || s[7] != '-' {
		return false
	}
	year, month, day := digits(s[:4]), digits(s[5:7]), digits(s[8:])
	return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

// isDatetime reports whether s is a time of day on a calendar day as YYYY-MM-DD HH:mm:ss, without a zone and without
// leap seconds.
func isDatetime(s string) bool {
	if len(s) != datetimeLength || s[10] != ' ' || s[13] != ':' || s[16] != ':' || !isDate(s[:dateLength]) {
		return false
	}
	hour, minute, second := digits(s[11:13]), digits(s[14:16]), digits(s[17:])
	return hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59 && second >= 0 && second <= 59
}

// iso has the forms of ISO 8601 that real senders write: the extended and the basic one, with or without a time of day,
// its seconds, their fraction and a zone. The blank in the place of the T is the contract's and RFC 3339's.
var iso = regexp.MustCompile(`^(\d{4})-?(\d\d)-?(\d\d)` +
	`(?:[Tt ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d(?::?\d\d)?)?)?$`)

// isISO reports whether s is a day or time that exists, in one of the forms of ISO 8601.
func isISO(s string) bool {
	parts := iso.FindStringSubmatch(s)
	if parts == nil {
		return false
	}
	if !isDate(parts[1] + "-" + parts[2] + "-" + parts[3]) {
		return false
	}
	const leap = 60 // the last second of a minute that is one longer
	return digits(parts[4]) <= 23 && digits(parts[5]) <= 59 && digits(parts[6]) <= leap
}

// digits returns the number that s writes in ASCII digits, or -1.
func digits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}
