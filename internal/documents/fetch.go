package documents

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"
)

const (
	// fetchTime bounds one attempt, from connecting to the last byte.
	fetchTime = 2 * time.Minute
	// maxRaw limits an answer that may be a Document object. Base64 is a third larger, and senders may write each slash
	// as \/: a file of MaxSize can take nearly three times its size.
	maxRaw = 3 * MaxSize
)

// Fetched is a document that was fetched and stored.
type Fetched struct {
	Blob
	// the media type in the Document object, otherwise in Content-Type, without parameters; may be empty
	Declared string
	FileName string // a bare name of at most 255 bytes, never empty
}

// Fetch fetches one document of at most MaxSize bytes from its public URL and stores it under a name of NewName. The
// answer is the contract's Document object or the file itself: an application/json object with a content in base64 is
// decoded, JSON of another kind is requested once more, and all else is stored unchanged. It ends after two minutes and
// follows no redirect; client guards the address. Every error is a *FetchError, and then nothing is stored.
func Fetch(ctx context.Context, client *http.Client, rawURL string, into *Files, name string) (Fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	request, err := newRequest(ctx, rawURL)
	if err != nil {
		return Fetched{}, &FetchError{Class: ClassURL, cause: err}
	}
	client = withoutRedirects(client)
	fetched, err := fetch(ctx, client, request, into, name, true)
	if other := new(ObjectError); errors.As(err, &other) { // a file that happens to be JSON
		fetched, err = fetch(ctx, client, request, into, name, false)
	}
	if err != nil {
		return Fetched{}, newFetchError(ctx, request.URL.Hostname(), err)
	}
	return fetched, nil
}

// newRequest prefers the Document object if the service offers both, because it brings the file's own name and type.
// Compression is declined: nearly all documents are compressed already.
func newRequest(ctx context.Context, rawURL string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return nil, err
	}
	if u := request.URL; u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, errors.New("not an http URL")
	}
	request.Header.Set("Accept", "application/json, */*;q=0.8")
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "hiregate")
	return request, nil
}

func withoutRedirects(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// fetch makes one request. With objects, JSON is decoded as a Document object as it arrives; JSON of another kind is an
// *ObjectError.
func fetch(ctx context.Context, client *http.Client, request *http.Request, into *Files, name string, objects bool) (
	Fetched, error) {
	response, err := client.Do(request)
	if err != nil {
		return Fetched{}, &sourceError{err}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return Fetched{}, statusError(response.StatusCode)
	}
	declared := mediaType(response.Header.Get("Content-Type"))
	isObject := objects && declared == "application/json"
	limit := int64(MaxSize)
	if isObject {
		limit = maxRaw
	}
	if response.ContentLength > limit {
		return Fetched{}, ErrTooLarge
	}
	body, err := decompressed(response)
	if err != nil {
		return Fetched{}, err
	}
	file, err := into.temporary(name)
	if err != nil {
		return Fetched{}, err
	}
	defer file.discard()
	var fetched Fetched
	if isObject {
		var media string
		media, fetched.FileName, err = DecodeObject(&limited{body, limit},
			func(content io.Reader) error { return file.fill(ctx, content, MaxSize) })
		fetched.Declared = mediaType(media)
	} else {
		fetched.Declared = declared
		err = file.fill(ctx, body, limit)
	}
	if err != nil {
		return Fetched{}, err
	}
	if fetched.Blob, err = file.keep(ctx); err != nil {
		return Fetched{}, err
	}
	if fetched.FileName == "" {
		fetched.FileName = fileName(request.URL, response.Header, fetched.Declared, fetched.Detected)
	}
	return fetched, nil
}

// limited is a reader that fails with ErrTooLarge after so many bytes.
type limited struct {
	io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// decompressed returns the body without its Content-Encoding: object stores send files that were uploaded compressed in
// that encoding, whatever the request accepts.
func decompressed(response *http.Response) (io.Reader, error) {
	switch strings.ToLower(response.Header.Get("Content-Encoding")) {
	case "", "identity":
		return &source{response.Body}, nil
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(response.Body)
		if err != nil {
			return nil, &sourceError{err}
		}
		return &source{r}, nil
	}
	return nil, &FetchError{Class: ClassEncoding}
}

// source marks errors as the other side's, to distinguish them from errors of our disk.
type source struct{ io.Reader }

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}

// mediaType returns the media type in a Content-Type or a mimeType, without parameters; empty if there is none that
// helps.
func mediaType(contentType string) string {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || len(mediaType) > maxMediaType {
		return ""
	}
	return mediaType
}

// fileName finds a name for a document that came without one; otherwise the first known media type names it. A last
// path segment without an extension is no name: it is an id, and often the secret part of the URL.
func fileName(u *url.URL, header http.Header, types ...string) string {
	if _, parameters, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		if name := cleanName(parameters["filename"]); name != "" {
			return name
		}
	}
	if name := cleanName(path.Base(u.Path)); extensionOf(name) != "" {
		return name
	}
	for _, t := range types {
		if known := mimetype.Lookup(t); known != nil && known.Extension() != "" {
			return "document" + known.Extension()
		}
	}
	return "document"
}

// sourceError is an error of the other side, or on the way to it.
type sourceError struct{ cause error }

func (e *sourceError) Error() string { return e.cause.Error() }
func (e *sourceError) Unwrap() error { return e.cause }
