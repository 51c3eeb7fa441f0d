package schemas

import (
	"bytes"

	"github.com/dustin/go-humanize"
)

// Limits bound what the guard lets through. An export with all that the contract has has 126 values.
type Limits struct {
	Values int // arrays, objects and scalars of the whole body
	Items  int // of one array
}

// Most are the largest limits, those of Guard.
var Most = Limits{Values: 100_000, Items: 10_000}

// How many bytes of memory are allocated at most while a body is read and validated: TestWeight measures it.
const (
	textWeight  = 3   // for each byte of the body: strings are unquoted, and then copied
	valueWeight = 512 // for each value, beside its text
)

// Weight returns how many bytes of memory a body takes at most while it is read within these limits and validated. It
// only counts brackets and commas, one of which comes before each value, and so takes hardly any time.
func (l Limits) Weight(body []byte) int64 {
	values := 1 // without any of them
	for _, before := range []string{"[", "{", ","} {
		values += bytes.Count(body, []byte(before))
	}
	return int64(len(body))*textWeight + int64(min(values, l.Values+1))*valueWeight
}

func (l Limits) tooManyValues() string {
	return "The body has more than " + humanize.Comma(int64(l.Values)) + " values; send less in one document."
}

func (l Limits) tooManyItems() string {
	return "An array has more than " + humanize.Comma(int64(l.Items)) + " elements; send fewer."
}
