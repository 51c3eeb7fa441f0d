package signature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// form is a way in which a library writes JSON.
type form struct {
	indent  string // empty: on one line
	spaces  bool   // after , and : on one line
	sorted  bool   // keys, by their bytes
	ascii   bool   // \u for all others
	slashes bool   // \/
	html    bool   // \u for <, > and &
}

// rewrite writes JSON in another form. Numbers stay as they are written. nil: it is not JSON.
func rewrite(raw []byte, f form) []byte {
	if !json.Valid(raw) { // so that it is not nested too deep, either
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out bytes.Buffer
	f.value(&out, d, 0)
	return out.Bytes()
}

// value writes the next value of valid JSON.
func (f form) value(out *bytes.Buffer, d *json.Decoder, depth int) {
	token, _ := d.Token() // rewrite has seen that it is valid
	switch t := token.(type) {
	case json.Delim:
		f.list(out, d, depth, t == '{')
	case string:
		f.text(out, t)
	case json.Number:
		out.WriteString(t.String())
	case bool:
		fmt.Fprint(out, t)
	default:
		out.WriteString("null")
	}
}

// list writes the elements of an array, or the members of an object, whose opening was read.
func (f form) list(out *bytes.Buffer, d *json.Decoder, depth int, object bool) {
	type element struct {
		key     string
		written []byte
	}
	var all []element
	for d.More() {
		var e element
		var written bytes.Buffer
		if object {
			key, _ := d.Token()
			e.key, _ = key.(string)
			f.text(&written, e.key)
			written.WriteByte(':')
			if f.spaces || f.indent != "" {
				written.WriteByte(' ')
			}
		}
		f.value(&written, d, depth+1)
		e.written = written.Bytes()
		all = append(all, e)
	}
	_, _ = d.Token() // the closing one
	if f.sorted && object {
		slices.SortStableFunc(all, func(a, b element) int { return strings.Compare(a.key, b.key) })
	}
	opening, closing := byte('['), byte(']')
	if object {
		opening, closing = '{', '}'
	}
	out.WriteByte(opening)
	for n, e := range all {
		if n > 0 {
			out.WriteByte(',')
			if f.spaces && f.indent == "" {
				out.WriteByte(' ')
			}
		}
		f.line(out, depth+1)
		out.Write(e.written)
	}
	if len(all) > 0 {
		f.line(out, depth)
	}
	out.WriteByte(closing)
}

func (f form) line(out *bytes.Buffer, depth int) {
	if f.indent != "" {
		out.WriteString("\n" + strings.Repeat(f.indent, depth))
	}
}

// short are the escapes that have a letter.
var short = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func (f form) text(out *bytes.Buffer, s string) {
	out.WriteByte('"')
	for _, r := range s {
		switch escape := short[r]; {
		case escape != "":
			out.WriteString(escape)
		case r == '/' && f.slashes:
			out.WriteString(`\/`)
		case r < ' ', f.ascii && r > '~', f.html && strings.ContainsRune("<>&\u2028\u2029", r):
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(out, `\u%04x`, unit)
			}
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
}
