package documents

import (
	"encoding/base64"
	"errors"
	"io"
)

// ErrBase64 is returned by a reader of NewBase64Reader for anything that is not standard base64.
var ErrBase64 = errors.New("not standard base64")

// NewBase64Reader decodes standard base64 (RFC 4648 section 4) as it arrives. It tolerates line breaks and missing
// padding (docs/behaviour.md, "Documents"). Errors: ErrBase64, and the errors of r, unchanged.
func NewBase64Reader(r io.Reader) io.Reader {
	digits := &base64Digits{r: r}
	return &base64Reader{decoder: base64.NewDecoder(base64.RawStdEncoding, digits), digits: digits}
}

type base64Reader struct {
	decoder io.Reader
	digits  *base64Digits
}

func (b *base64Reader) Read(p []byte) (int, error) {
	n, err := b.decoder.Read(p)
	if corrupt := base64.CorruptInputError(0); errors.As(err, &corrupt) {
		err = ErrBase64 // the position in the decoder's error does not count what base64Digits removed
		if b.digits.err != nil && b.digits.err != io.EOF {
			err = b.digits.err // it only looks corrupt because it was cut off
		}
	}
	return n, err
}

// base64Digits removes line breaks and padding, and refuses padding in the wrong place.
type base64Digits struct {
	r       io.Reader
	digits  int // modulo 4
	padding int
	err     error // the last one of r
}

func (d *base64Digits) Read(p []byte) (int, error) {
	for {
		n, err := d.r.Read(p)
		d.err = err
		kept := 0
		for _, c := range p[:n] {
			switch {
			case c == '\r' || c == '\n':
				continue
			case c == '=':
				if d.padding++; d.digits == 0 || d.digits+d.padding > 4 {
					return 0, ErrBase64
				}
				continue
			case d.padding > 0:
				return 0, ErrBase64
			}
			d.digits = (d.digits + 1) % 4
			p[kept] = c
			kept++
		}
		if kept > 0 || err != nil {
			return kept, err
		}
	}
}
