package console

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/model"
)

// showUnseen writes the characters in the text of a page that nobody would see, and that make it look like another one,
// as signs such as [U+202E]. What is in a tag or a text area stays as it is: a form sends it back.
func showUnseen(page []byte) []byte {
	if bytes.IndexFunc(page, unseen) < 0 {
		return page
	}
	var out bytes.Buffer
	for within := []byte(nil); len(page) > 0; {
		c, size := utf8.DecodeRune(page)
		switch {
		case within != nil:
			if bytes.HasPrefix(page, within) {
				within = nil
			}
		case bytes.HasPrefix(page, []byte("<textarea")):
			within = []byte("</textarea")
		case c == '<':
			within = []byte(">") // which templates escape in the values of attributes
		case unseen(c):
			fmt.Fprintf(&out, "[U+%04X]", c)
			page = page[size:]
			continue
		}
		out.Write(page[:size])
		page = page[size:]
	}
	return out.Bytes()
}

func unseen(c rune) bool { return c != '\n' && c != '\r' && c != '\t' && model.IsUnseen(c) }
