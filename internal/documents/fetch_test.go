package documents

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fetchFrom fetches path from a server that answers with handler.
func fetchFrom(t *testing.T, files *Files, path string, handler http.HandlerFunc) (Fetched, error) {
	server := httptest.NewServer(handler)
	defer server.Close()
	return Fetch(t.Context(), server.Client(), server.URL+path, files, files.NewName())
}

// failure is for tests of what can't be fetched: it checks what holds for all of them.
func failure(t *testing.T, files *Files, err error) *FetchError {
	var e *FetchError
	require.ErrorAs(t, err, &e)
	require.NotContains(t, e.Error(), "secret")
	require.Nil(t, errors.Unwrap(err), "a cause could quote the URL")
	require.Empty(t, stored(t, files), "nothing is kept")
	return e
}

func answer(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func TestFetchDocumentObject(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	answers := 0
	for _, contentType := range []string{"application/json", "Application/JSON; charset=utf-8", "text/json", "text/plain",
		"text/html; charset=utf-8", "application/octet-stream", "application/pdf", "nonsense/", ""} {
		for _, before := range []string{"", "\xef\xbb\xbf", " \r\n\t", "\xef\xbb\xbf "} {
			answers++
			fetched, err := fetchFrom(t, files, "/documents/secret", answer(contentType, before+sample))
			require.NoError(t, err)
			require.Equal(t, pdf, read(t, files, fetched.Name), "%q %q", contentType, before)
			require.Equal(t, []string{"application/pdf", "application/pdf", "resume.pdf"},
				[]string{fetched.Declared, fetched.Detected, fetched.FileName})
		}
	}
	require.Len(t, stored(t, files), answers, "what came over the wire is not kept")
	for _, contentType := range []string{"application/json"} {
		fetched, err := fetchFrom(t, files, "/documents/secret", answer(contentType, sample))
		require.NoError(t, err)
		require.Equal(t, pdf, read(t, files, fetched.Name))
		require.EqualValues(t, len(pdf), fetched.Size)
		require.Equal(t, "application/pdf", fetched.Declared)
		require.Equal(t, "application/pdf", fetched.Detected)
		require.Equal(t, "resume.pdf", fetched.FileName)
	}
	fetched, err := fetchFrom(t, files, "/documents/secret", answer("application/json", `{"content":"JVBERi0xLjQK"}`))
	require.NoError(t, err)
	require.Empty(t, fetched.Declared, "the type of the answer is not that of the file")
	require.Equal(t, "document.pdf", fetched.FileName)
}

func TestFetchTheFileItself(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for _, c := range []struct{ contentType, body, declared string }{
		{"application/pdf", pdf, "application/pdf"},
		{"text/plain; charset=utf-8", "hi", "text/plain"},
		{"text/plain; charset", "hi", "text/plain"},
		{"nonsense/", "hi", ""},
		{"application/rtf", `{\rtf1 {"content":"x"}}`, "application/rtf"},
		{"text/plain", `{"content":"not base64"}`, "text/plain"},
		{"text/plain", "\xef\xbb\xbfhi", "text/plain"},
		{"application/json", `{"name":"not a Document object"}`, "application/json"},
		{"application/json", `{"content":"text"} and more`, "application/json"},
		{"application/json", `{"content":"not base64"}`, "application/json"},
		{"application/json", `[1,2]`, "application/json"},
		{"application/json", `half a {`, "application/json"},
	} {
		fetched, err := fetchFrom(t, files, "/cv.pdf", answer(c.contentType, c.body))
		require.NoError(t, err, c.body)
		require.Equal(t, c.body, read(t, files, fetched.Name))
		require.Equal(t, c.declared, fetched.Declared)
	}
	require.Len(t, stored(t, files), 12, "and no temporary file")
}

func TestFetchRequest(t *testing.T) {
	t.Parallel()
	_, err := fetchFrom(t, newFiles(t), "/a%2Fb?key=1", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.RequestURI != "/a%2Fb?key=1" ||
			r.Header.Get("Accept") != "application/json, */*;q=0.8" ||
			r.Header.Get("Accept-Encoding") != "identity" || r.UserAgent() != "hiregate" {
			t.Errorf("%s %s %v", r.Method, r.RequestURI, r.Header)
		}
		_, _ = io.WriteString(w, pdf)
	})
	require.NoError(t, err)
}

func TestFetchFileName(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for _, c := range []struct{ path, disposition, want string }{
		{"/files/Lebenslauf%20M%C3%BCller.pdf?key=1", "", "Lebenslauf Müller.pdf"},
		{"/files/x.pdf", `attachment; filename="cv.pdf"`, "cv.pdf"},
		{"/files/x.pdf", `attachment; filename="cv.pdf"; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf`, "résumé.pdf"},
		{"/files/x.pdf", `inline; filename="../../etc/passwd"`, "passwd"},
		{"/files/x.pdf", `attachment; filename=not a token.pdf`, "not a token.pdf"},
		{"/files/x.pdf", `attachment; filename=Lebenslauf Müller (1).pdf; size=7`, "Lebenslauf Müller (1).pdf"},
		{"/files/x.pdf", `attachment; filename="cv "new".pdf"`, `cv "new".pdf`},
		{"/files/x.pdf", `attachment; filename="cv; new.pdf`, "cv; new.pdf"},
		{"/files/x.pdf", `attachment; filename='cv.pdf'`, "cv.pdf"},
		{"/files/x.pdf", `attachment; filename= my 'cv'.pdf ;`, "my 'cv'.pdf"},
		{"/files/x.pdf", `attachment; FileName=my cv.pdf`, "my cv.pdf"},
		{"/files/x.pdf", `attachment; filename=my cv.pdf; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf`, "résumé.pdf"},
		{"/files/x.pdf", `attachment; filename=my cv.pdf; filename*=nonsense`, "my cv.pdf"},
		{"/files/x.pdf", `attachment; a b`, "x.pdf"},
		{"/files/x.pdf", `attachment`, "x.pdf"},
		{"/files/..%2F..%2Fx.pdf", "", "x.pdf"},
		{"/documents/c2VjcmV0LXNlY3JldC1zZWNyZXQ", "", "document.pdf"},
		{"/documents/eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", "", "document.pdf"},
		{"/", "", "document.pdf"},
		{"", "", "document.pdf"},
	} {
		fetched, err := fetchFrom(t, files, c.path, func(w http.ResponseWriter, _ *http.Request) {
			if c.disposition != "" {
				w.Header().Set("Content-Disposition", c.disposition)
			}
			_, _ = io.WriteString(w, pdf)
		})
		require.NoError(t, err)
		require.Equal(t, c.want, fetched.FileName, "%s %s", c.path, c.disposition)
	}
}

func TestFetchNamesByTheTypeThatIsDeclared(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for _, c := range []struct{ contentType, body, want string }{
		{"application/pdf", "but it is text", "document.pdf"},
		{"application/octet-stream", pdf, "document.pdf"},
		{"text/x-unheard-of", pdf, "document.pdf"},
		{"application/json", `{"content":"aGVsbG8=","mimeType":"application/pdf"}`, "document.pdf"},
		{"application/json", `{"content":"aGVsbG8="}`, "document.txt"},
	} {
		fetched, err := fetchFrom(t, files, "/documents/secret", answer(c.contentType, c.body))
		require.NoError(t, err)
		require.Equal(t, c.want, fetched.FileName, c.contentType)
	}
}

// A file that is named by its type alone has the extension of what it is, also where its head does not tell.
func TestFetchNamesByWhatIsInside(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	raw, err := os.ReadFile("../../testdata/files/accepted/resume.doc")
	require.NoError(t, err)
	for _, contentType := range []string{"", "application/octet-stream", "binary/octet-stream"} {
		fetched, err := fetchFrom(t, files, "/documents/secret", answer(contentType, string(raw)))
		require.NoError(t, err)
		require.Equal(t, []string{"application/msword", "document.doc"}, []string{fetched.Detected, fetched.FileName})
	}
}

// A file without bytes is none: it is asked for again, and then given up.
func TestFetchNothing(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for _, c := range []struct{ contentType, body string }{
		{"application/pdf", ""}, {"application/json", ""}, {"", ""}, {"application/json", `{"content":""}`},
		{"text/plain", `{"content":"","fileName":"cv.pdf"}`},
	} {
		_, err := fetchFrom(t, files, "/documents/secret", answer(c.contentType, c.body))
		e := failure(t, files, err)
		require.Equal(t, ClassEmpty, e.Class)
		require.Equal(t, GiveUpAfterTries, e.Verdict())
		require.Contains(t, e.Error(), "has no bytes")
	}
}

// What is declared is written into headers and bodies later.
func TestFetchTakesNoTypeThatIsNone(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for mimeType, want := range map[string]string{
		`application/pdf\r\nX-Evil: 1`: "", `application/pdf\u0000`: "", "nonsense/": "",
		"Text/Plain; charset=utf-8": "text/plain", `text/plain\r\n`: "text/plain",
	} {
		fetched, err := fetchFrom(t, files, "/documents/secret",
			answer("application/json", `{"content":"aGVsbG8=","mimeType":"`+mimeType+`"}`))
		require.NoError(t, err)
		require.Equal(t, want, fetched.Declared, mimeType)
	}
}

func TestFetchCompressed(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	compressed := func(size int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.Copy(z, zeros(size))
			_ = z.Close()
		}
	}
	fetched, err := fetchFrom(t, files, "/secret", compressed(1<<20))
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, fetched.Size)
	require.NoError(t, files.Discard(fetched.Name))

	_, err = fetchFrom(t, files, "/secret", compressed(MaxSize+1))
	require.Equal(t, ClassTooLarge, failure(t, files, err).Class, "the cap counts what comes out")

	for _, encoding := range []string{"br", "gzip, gzip"} {
		_, err = fetchFrom(t, files, "/secret",
			func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", encoding) })
		e := failure(t, files, err)
		require.Equal(t, ClassEncoding, e.Class)
		require.Equal(t, Retry, e.Verdict())
	}
	for _, body := range []string{"not gzip at all", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00 broken"} {
		_, err = fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, body)
		})
		require.Equal(t, ClassConnection, failure(t, files, err).Class)
	}
}

func TestFetchCap(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for name, body := range map[string]func(w http.ResponseWriter, size int64) error{
		"announced": func(w http.ResponseWriter, size int64) error {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, err := io.Copy(w, zeros(size))
			return err
		},
		"chunked": func(w http.ResponseWriter, size int64) error {
			_, err := io.Copy(w, zeros(size))
			return err
		},
		"Document object": func(w http.ResponseWriter, size int64) error {
			w.Header().Set("Content-Type", "application/json")
			return EncodeObject(w, zeros(size), size, "application/pdf", "resume.pdf")
		},
		"other JSON": func(w http.ResponseWriter, size int64) error {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `"`+strings.Repeat(" ", int(size-2))+`"`) // the first request ends at the first byte
			return nil
		},
	} {
		fetched, err := fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) {
			if err := body(w, MaxSize); err != nil {
				t.Error(err)
			}
		})
		require.NoError(t, err, name)
		require.EqualValues(t, 25*1024*1024, fetched.Size, name)
		require.NoError(t, files.Discard(fetched.Name))

		_, err = fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) { _ = body(w, MaxSize+1) })
		e := failure(t, files, err)
		require.Equal(t, ClassTooLarge, e.Class, name)
		require.Equal(t, GiveUp, e.Verdict())
		require.ErrorIs(t, err, ErrTooLarge)
	}
}

func TestFetchTakesObjectsFullOfEscapes(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	fetched, err := fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"content":"`)
		row := strings.Repeat(`\/`, 76) + `\r\n` // a white picture, by PHP
		for range 1_000 {
			_, _ = io.WriteString(w, strings.Repeat(row, 400))
		}
		_, _ = io.WriteString(w, `"}`)
	})
	require.NoError(t, err)
	require.EqualValues(t, 1_000*400*76/4*3, fetched.Size)
}

func TestFetchDoesNotReadObjectsWithoutEnd(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	_, err := fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"content":"`)
		for err := error(nil); err == nil; {
			_, err = io.WriteString(w, strings.Repeat(`\n`, 1<<15))
		}
	})
	require.Equal(t, ClassTooLarge, failure(t, files, err).Class)
}

func TestGap(t *testing.T) {
	t.Parallel()
	for tries, want := range []time.Duration{2, 2, 4, 8, 16, 32, 64, 120, 120, 120} { // by tries, in seconds
		want *= time.Second
		require.InDelta(t, want, Backoff(tries, 0.5), float64(time.Millisecond))
		require.InDelta(t, want*8/10, Backoff(tries, 0), float64(time.Millisecond))
		require.InDelta(t, want*12/10, Backoff(tries, 0.999999999), float64(time.Millisecond))
	}
	require.InDelta(t, 2*time.Minute, Backoff(1<<40, 0.5), float64(time.Millisecond))
	require.Less(t, Backoff(1, 1)+Backoff(2, 1), time.Minute, "three tries lie within a minute")
}
