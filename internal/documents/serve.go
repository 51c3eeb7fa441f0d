package documents

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Serve answers a GET or HEAD with a document: 200 with the contract's Document object, or with the file itself if the
// request prefers application/octet-stream (docs/behaviour.md, "Documents"). The content is streamed; size is its
// length in bytes.
//
// An error means that the answer was cut off; the client notices by the Content-Length.
func Serve(w http.ResponseWriter, r *http.Request, content io.Reader, size int64, mimeType, fileName string) error {
	raw := prefersRaw(r.Header.Values("Accept"))
	contentType, length, name := "application/json", EncodedLength(size, mimeType, fileName), fileName
	if raw {
		contentType, length = "application/octet-stream", size
	} else if name != "" {
		name += ".json" // JSON that is saved under the file's own name would not open
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
	if !raw {
		return EncodeObject(w, content, size, mimeType, fileName)
	}
	if err := copyExactly(w, content, size); err != nil {
		return fmt.Errorf("sending a document: %w", err)
	}
	return nil
}

// copyExactly copies size bytes; fewer are io.ErrUnexpectedEOF.
func copyExactly(w io.Writer, r io.Reader, size int64) error {
	_, err := io.CopyN(w, r, size)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
