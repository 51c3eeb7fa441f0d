package documents

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode"
)

// Value is the value of an answer that is a file. It is read decoded; errors are those of NewBase64Reader.
type Value struct {
	io.Reader
	DataURL bool // it begins as a data URL does, which is not base64 alone
}

// OpenValue opens the base64 of a file, which may have white space in front. It returns nil where there is nothing else.
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
