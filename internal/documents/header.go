package documents

import (
	"mime"
	"net/url"
	"strconv"
	"strings"
)

// prefersRaw reports whether Accept headers (RFC 9110 section 12.5.1) prefer application/octet-stream over
// application/json. If both weigh the same, or neither is accepted, the answer is the contract's Document object.
func prefersRaw(accept []string) bool {
	return quality(accept, "application/octet-stream") > quality(accept, "application/json")
}

// quality returns the weight, from 0 to 1, of a media type: the one of the most specific range that matches.
func quality(accept []string, mediaType string) float64 {
	major, _, _ := strings.Cut(mediaType, "/")
	ranges := []string{"*/*", major + "/*", mediaType} // ever more specific
	best, weight := -1, 0.0
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		name, parameters, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		q := 1.0
		if text, ok := parameters["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
				continue
			}
		}
		for specific, r := range ranges {
			if r == name && specific > best {
				best, weight = specific, q
			}
		}
	}
	return weight
}

// attachment formats a Content-Disposition (RFC 6266): a filename in ASCII and, if the name has other characters, a
// filename* in UTF-8 (RFC 8187).
func attachment(name string) string {
	if name == "" {
		return "attachment"
	}
	valid := strings.ToValidUTF8(name, "_")
	plain := strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '%' {
			return '_'
		}
		return c
	}, valid)
	value := `attachment; filename="` + plain + `"`
	if plain != name {
		value += `; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(valid), "+", "%20")
	}
	return value
}
