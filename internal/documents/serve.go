package documents

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/etag"
)

// Serve answers a GET or HEAD with a document: 200 with the contract's Document object, or with the file itself if the
// request prefers application/octet-stream (docs/behaviour.md, "Documents"). The content is streamed. Of the file a
// request may want a range, which is sent once all of the content was compared; 304 answers one that has the
// representation.
//
// An error means that the answer was cut off; the client notices by the Content-Length.
func Serve(w http.ResponseWriter, r *http.Request, content *Whole, mimeType, fileName string) error {
	raw := prefersRaw(r.Header.Values("Accept"))
	h := w.Header()
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept")
	tag := etag.Of(string(content.sha256), mimeType, fileName)
	if raw {
		tag = etag.Of(string(content.sha256))
	}
	h.Set("ETag", tag)
	if etag.ListedWeakly(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if raw {
		return serveRaw(w, r, content, fileName)
	}
	name := fileName
	if name != "" {
		name += ".json" // JSON that is saved under the file's own name would not open
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.FormatInt(EncodedLength(content.size, mimeType, fileName), 10))
	h.Set("Content-Disposition", attachment(name))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return EncodeObject(w, content, content.size, mimeType, fileName)
}

func serveRaw(w http.ResponseWriter, r *http.Request, content *Whole, fileName string) error {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", attachment(fileName))
	if r.Header.Get("Range") != "" {
		return serveRange(w, r, content)
	}
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Length", strconv.FormatInt(content.size, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if err := copyExactly(w, content, content.size); err != nil {
		return fmt.Errorf("sending a document: %w", err)
	}
	return nil
}

// serveRange sends ranges of a file, or all of it where they can't be had.
func serveRange(w http.ResponseWriter, r *http.Request, content *Whole) error {
	if r.Method == http.MethodGet {
		if _, err := io.Copy(io.Discard, content); err != nil {
			return fmt.Errorf("comparing a document: %w", err)
		}
	}
	parts := remembering{ReadSeeker: io.NewSectionReader(content.content, 0, content.size)}
	http.ServeContent(w, r, "", time.Time{}, &parts)
	if parts.err != nil {
		return fmt.Errorf("sending a part of a document: %w", parts.err)
	}
	return nil
}

// remembering keeps the error of a reader whose caller drops it.
type remembering struct {
	io.ReadSeeker
	err error
}

// Read implements io.Reader.
func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// copyExactly copies size bytes; fewer are io.ErrUnexpectedEOF.
func copyExactly(w io.Writer, r io.Reader, size int64) error {
	_, err := io.CopyN(w, r, size)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
