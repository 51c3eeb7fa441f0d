package documents

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hiregate/hiregate/internal/jsonstream"
)

const (
	maxMediaType = 255     // bytes
	maxFileName  = 4 << 10 // bytes as sent; what is kept of them is at most maxCleanName
)

// ObjectError says why JSON is not the contract's Document object. It never quotes the input.
type ObjectError struct {
	Reason string
}

func (e *ObjectError) Error() string { return "this is not a Document object: " + e.Reason }

// DecodeObject reads a Document object, {content, mimeType, fileName} (contract, "B. Webhook resources"), in memory
// that does not grow with it. It passes the decoded content to put as it arrives; put has to read to the end, and its
// result counts only when DecodeObject returns no error. Members may come in any order; unknown ones are dropped, null
// counts as absent, and content is required. The file name is returned as a bare name of at most 255 bytes.
//
// The caller bounds the length of r. Errors: *ObjectError, and the errors of put and r.
func DecodeObject(r io.Reader, put func(io.Reader) error) (mimeType, fileName string, err error) {
	mimeType, fileName, err = decodeObject(jsonstream.NewReader(r), put)
	var syntax *jsonstream.Error
	switch {
	case errors.As(err, &syntax):
		err = &ObjectError{Reason: syntax.Error()}
	case errors.Is(err, ErrBase64):
		err = &ObjectError{Reason: "its content is " + ErrBase64.Error()}
	}
	if err != nil {
		return "", "", err
	}
	return mimeType, cleanName(fileName), nil
}

func decodeObject(in *jsonstream.Reader, put func(io.Reader) error) (mimeType, fileName string, err error) {
	found := false
	err = in.Object(func(name string) (err error) {
		kind, err := in.Next()
		if err != nil {
			return err
		}
		switch {
		case kind == jsonstream.Null:
			return in.Skip()
		case name == "content":
			found = true
			return in.Text(func(text io.Reader) error { return put(NewBase64Reader(text)) })
		case name == "mimeType":
			mimeType, err = in.String(maxMediaType)
			return err
		case name == "fileName":
			fileName, err = in.String(maxFileName)
			return err
		}
		return in.Skip()
	})
	if err == nil {
		err = in.End()
	}
	if err == nil && !found {
		err = &ObjectError{Reason: "it has no content"}
	}
	return mimeType, fileName, err
}

// EncodeObject writes content of size bytes as a Document object, with the properties in the contract's order, while it
// reads it. A shorter content is io.ErrUnexpectedEOF.
func EncodeObject(w io.Writer, content io.Reader, size int64, mimeType, fileName string) error {
	out := bufio.NewWriterSize(w, 32<<10)
	// bufio.Writer keeps its first error, and Flush returns it.
	_, _ = out.WriteString(objectStart)
	encoder := base64.NewEncoder(base64.StdEncoding, out)
	if err := copyExactly(encoder, content, size); err != nil {
		return fmt.Errorf("writing a Document object: %w", err)
	}
	_ = encoder.Close()
	_, _ = out.WriteString(objectEnd(mimeType, fileName))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing a Document object: %w", err)
	}
	return nil
}

// EncodedLength returns the number of bytes that EncodeObject writes for a content of size bytes.
func EncodedLength(size int64, mimeType, fileName string) int64 {
	return int64(len(objectStart)) + (size+2)/3*4 + int64(len(objectEnd(mimeType, fileName)))
}

const objectStart = `{"content":"`

func objectEnd(mimeType, fileName string) string {
	return `","mimeType":` + quote(mimeType) + `,"fileName":` + quote(fileName) + `}`
}

func quote(s string) string {
	quoted, _ := json.Marshal(s) // a string can always be encoded
	return string(quoted)
}
