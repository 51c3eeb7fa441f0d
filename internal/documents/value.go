package documents

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode"
)

// Value reads the decoded value of an answer that is a file. Errors are those of NewBase64Reader.
type Value struct {
	io.Reader
	DataURL bool // it begins like a data URL, which is not only base64
}

// OpenValue opens the base64 of a file, which may begin with white space. It returns nil if there is nothing else.
func OpenValue(r io.Reader) (*Value, error) {
	in := bufio.NewReader(r)
	for {
		c, _, err := in.ReadRune()
		if err != nil {
			return nil, unlessEOF(err)
		}
		if !unicode.IsSpace(c) {
			if err := in.UnreadRune(); err != nil {
				return nil, err
			}
			break
		}
	}
	const prefix = "data:"
	head, err := in.Peek(len(prefix))
	if unlessEOF(err) != nil {
		return nil, err
	}
	return &Value{NewBase64Reader(in), strings.EqualFold(string(head), prefix)}, nil
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
