package documents

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/hiregate/hiregate/internal/filetype"
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
// answer is the contract's Document object or the file itself: an object with a content in base64 is decoded, one of
// another kind is requested once more, and all else is stored unchanged. It ends after two minutes and follows no
// redirect; client guards the address. Every error is a *FetchError, and then nothing is stored.
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

// fetch makes one request. With objects, what begins like a Document object is decoded as it arrives; what is none after
// all is an *ObjectError.
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
	plain, err := decompressed(response)
	if err != nil {
		return Fetched{}, err
	}
	body := bufio.NewReader(plain)
	isObject := false
	if objects {
		if isObject, err = beginsObject(body); err != nil {
			return Fetched{}, err
		}
	}
	limit := int64(MaxSize)
	if isObject {
		limit = maxRaw
	}
	if response.ContentLength > limit {
		return Fetched{}, ErrTooLarge
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
		fetched.Declared = mediaType(response.Header.Get("Content-Type"))
		err = file.fill(ctx, body, limit)
	}
	if err == nil && file.size == 0 {
		err = &FetchError{Class: ClassEmpty}
	}
	if err != nil {
		return Fetched{}, err
	}
	if fetched.Blob, err = file.keep(ctx); err != nil {
		return Fetched{}, err
	}
	fetched.Detected = into.lookInside(fetched.Blob)
	if fetched.FileName == "" {
		fetched.FileName = fileName(request.URL, response.Header, fetched.Declared, fetched.Detected)
	}
	return fetched, nil
}

// byteOrderMark begins what some writers of UTF-8 write.
const byteOrderMark = "\xef\xbb\xbf"

// beginsObject reports whether an answer begins like a JSON object, whatever its Content-Type says: services send
// Document objects under any. It reads over a byte order mark in front of one.
func beginsObject(body *bufio.Reader) (bool, error) {
	const most = 512 // bytes: more white space than that is not looked behind
	head, err := body.Peek(most)
	if err != nil && err != io.EOF {
		return false, err
	}
	text, marked := bytes.CutPrefix(head, []byte(byteOrderMark))
	rest, opened := bytes.CutPrefix(bytes.TrimLeft(text, jsonSpace), []byte("{"))
	// RTF begins with a brace as well. Without a member it is no Document object.
	if !opened || !bytes.HasPrefix(bytes.TrimLeft(rest, jsonSpace), []byte(`"`)) {
		return false, nil
	}
	if marked {
		_, _ = body.Discard(len(byteOrderMark)) // it is there
	}
	return true, nil
}

const jsonSpace = " \t\r\n"

// lookInside returns the type of a file that was stored: where the head of it does not tell, the directory that is in it
// does.
func (f *Files) lookInside(b Blob) string {
	switch b.Detected {
	case "application/x-ole-storage", "application/zip", "application/octet-stream":
	default:
		return b.Detected
	}
	content, size, err := f.Open(b.Name)
	if err != nil { // its type is not worth another try
		return b.Detected
	}
	defer content.Close()
	found, err := filetype.Detect(content, size)
	if err != nil {
		return b.Detected
	}
	return found.Name
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
	if name := cleanName(dispositionName(header.Get("Content-Disposition"))); name != "" {
		return name
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

var (
	extendedName = regexp.MustCompile(`(?i)filename\*=[^;]*`)
	simpleName   = regexp.MustCompile(`(?i)filename=(.*)`)
	// laterParameter matches what follows a name that is not quoted as it should be.
	laterParameter = regexp.MustCompile(`;\s*[\w*-]+\s*=.*$|;\s*$`)
)

// dispositionName returns the file name in a Content-Disposition; empty: it has none. Services write names without
// quotes, or with wrong ones: then it is what stands up to the next parameter.
func dispositionName(header string) string {
	_, parameters, err := mime.ParseMediaType(header)
	if err != nil { // one parameter is malformed, and the better name may be another one
		_, parameters, err = mime.ParseMediaType("attachment; " + extendedName.FindString(header))
	}
	name := parameters["filename"]
	if err != nil || name == "" {
		if found := simpleName.FindStringSubmatch(header); found != nil {
			name = laterParameter.ReplaceAllString(found[1], "")
		}
	}
	return strings.Trim(name, " \t\"'")
}

// sourceError is an error of the other side, or on the way to it.
type sourceError struct{ cause error }

func (e *sourceError) Error() string { return e.cause.Error() }
func (e *sourceError) Unwrap() error { return e.cause }
