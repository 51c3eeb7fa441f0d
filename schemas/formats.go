package schemas

import "github.com/xeipuuv/gojsonschema"

// The library's own "date" and "date-time" are RFC 3339; these are the contract's field types date and datetime.
const (
	dateFormat     = "contract-date"
	datetimeFormat = "contract-datetime"

	dateLength     = len("2006-01-02")
	datetimeLength = len("2006-01-02 15:04:05")
)

func init() {
	// The library knows formats by name and for the whole process only.
	gojsonschema.FormatCheckers.Add(dateFormat, format(isDate))
	gojsonschema.FormatCheckers.Add(datetimeFormat, format(isDatetime))
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
