package documents

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Serve answers a GET or HEAD with a document: 200 with the contract's Document object, or with the file itself where
// the request prefers application/octet-stream (docs/behaviour.md, "Documents"). The content is streamed; size is its length
// in bytes.
//
// An error means that the answer was cut off; by its Content-Length the client notices, too.
func Serve(w http.ResponseWriter, r *http.Request, content io.Reader, size int64, mimeType, fileName string) error {
	raw := prefersRaw(r.Header.Values("Accept"))
	contentType, length, name := "application/json", EncodedLength(size, mimeType, fileName), fileName
	if raw {
		contentType, length = "application/octet-stream", size
	} else if name != "" {
		name += ".json" // what is saved under the file's own name would not open
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	h.Set("Content-Disposition", attachment(name))
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	content = &exactly{r: content, left: size}
	if !raw {
		return EncodeObject(w, content, mimeType, fileName)
	}
	if _, err := io.Copy(w, content); err != nil {
		return fmt.Errorf("sending a document: %w", err)
	}
	return nil
}

// exactly reads as many bytes as were promised; fewer are an error.
type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	if e.left -= int64(n); err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
