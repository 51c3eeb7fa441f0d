// Package etag makes and compares entity tags (RFC 9110 section 8.8.3).
package etag

import (
	"fmt"
	"strings"

	"github.com/hiregate/hiregate/internal/digest"
)

// Of makes the strong tag of what these parts decide.
func Of(parts ...string) string { return fmt.Sprintf(`"%.16x"`, digest.Of(parts...)) }

// Listed reports whether the list of a header has a tag, or is "*". It compares strongly, as If-Match wants it (section
// 8.8.3.2): a weak tag never matches.
func Listed(header []string, tag string) bool {
	for _, one := range strings.Split(strings.Join(header, ","), ",") {
		if one = strings.TrimSpace(one); one == "*" || one == tag {
			return true
		}
	}
	return false
}

// ListedWeakly is Listed for If-None-Match, where a tag that was weakened on the way is as good.
func ListedWeakly(header []string, tag string) bool {
	return Listed([]string{strings.ReplaceAll(strings.Join(header, ","), `W/"`, `"`)}, tag)
}
