package documents

import (
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const pdf = "%PDF-1.4\n%%EOF\n"

// serve runs a server that gives out the PDF, and asks it.
func serve(t *testing.T, method, accept string, more ...string) (*http.Response, string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := Serve(w, r, WholeOf([]byte(pdf)), "application/pdf", "resume.pdf"); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
	require.NoError(t, err)
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	for n := 0; n < len(more); n += 2 {
		request.Header.Add(more[n], more[n+1])
	}
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

// Each representation has an entity tag of its own, and is not sent to who has it.
func TestServeWhatIsKnown(t *testing.T) {
	t.Parallel()
	const raw = "application/octet-stream"
	object, _ := serve(t, http.MethodGet, "")
	file, _ := serve(t, http.MethodGet, raw)
	tags := map[string]string{"": object.Header.Get("ETag"), raw: file.Header.Get("ETag")}
	require.NotEqual(t, tags[""], tags[raw])
	for accept, tag := range tags {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
				response, body := serve(t, method, accept, "If-None-Match", known)
				require.Equal(t, http.StatusNotModified, response.StatusCode, known)
				require.Equal(t, []string{tag, "private, no-store", "Accept"},
					[]string{response.Header.Get("ETag"), response.Header.Get("Cache-Control"), response.Header.Get("Vary")})
				require.Empty(t, body)
			}
			response, _ := serve(t, method, accept, "If-None-Match", tags[raw]+"x")
			require.Equal(t, http.StatusOK, response.StatusCode)
		}
	}
	response, _ := serve(t, http.MethodGet, "", "If-None-Match", tags[raw])
	require.Equal(t, http.StatusOK, response.StatusCode, "it is the tag of the other representation")
}

// A part of the file can be asked for, as when a download was interrupted; a part of the Document object can't.
func TestServeRanges(t *testing.T) {
	t.Parallel()
	const raw = "application/octet-stream"
	file, _ := serve(t, http.MethodGet, raw)
	require.Equal(t, "bytes", file.Header.Get("Accept-Ranges"))
	tag := file.Header.Get("ETag")
	for _, c := range []struct {
		header []string
		status int
		body   string
	}{
		{[]string{"Range", "bytes=0-3"}, http.StatusPartialContent, pdf[:4]},
		{[]string{"Range", "bytes=9-"}, http.StatusPartialContent, pdf[9:]},
		{[]string{"Range", "bytes=-3"}, http.StatusPartialContent, pdf[len(pdf)-3:]},
		{[]string{"Range", "bytes=0-3", "If-Range", tag}, http.StatusPartialContent, pdf[:4]},
		{[]string{"Range", "bytes=0-3", "If-Range", `"x"`}, http.StatusOK, pdf},
		{[]string{"Range", "bytes=0-3", "If-None-Match", tag}, http.StatusNotModified, ""},
		{[]string{"Range", "pages=1"}, http.StatusRequestedRangeNotSatisfiable, "invalid range\n"},
		{[]string{"Range", "bytes=99-"}, http.StatusRequestedRangeNotSatisfiable,
			"invalid range: failed to overlap\n"},
	} {
		response, body := serve(t, http.MethodGet, raw, c.header...)
		require.Equal(t, c.status, response.StatusCode, c.header)
		require.Equal(t, c.body, body, c.header)
	}
	response, body := serve(t, http.MethodGet, "", "Range", "bytes=0-3")
	require.Equal(t, []any{http.StatusOK, sample, ""}, []any{response.StatusCode, body, response.Header.Get("Accept-Ranges")})
}

func TestServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ accept, contentType, body, name string }{
		{"", "application/json", sample, "resume.pdf.json"},
		{"application/octet-stream", "application/octet-stream", pdf, "resume.pdf"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			response, body := serve(t, method, c.accept)
			require.Equal(t, http.StatusOK, response.StatusCode)
			h := response.Header
			require.Equal(t, c.contentType, h.Get("Content-Type"))
			require.Equal(t, strconv.Itoa(len(c.body)), h.Get("Content-Length"))
			require.Equal(t, "private, no-store", h.Get("Cache-Control"))
			require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
			require.Equal(t, "Accept", h.Get("Vary"))
			require.Equal(t, `attachment; filename="`+c.name+`"`, h.Get("Content-Disposition"))
			if method == http.MethodGet {
				require.Equal(t, c.body, body)
			} else {
				require.Empty(t, body)
			}
		}
	}
}

func TestServeCutsOffWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	for name, content := range map[string]io.Reader{ // of the megabyte that is promised
		"short":  zeros(100),
		"broken": io.MultiReader(zeros(100), iotest.ErrReader(broken)),
	} {
		for _, accept := range []string{"application/json", "application/octet-stream"} {
			failed := make(chan error, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				failed <- Serve(w, r, newWhole(readerContent{content, nil, nil}, 1<<20, nil), "", "")
			}))
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			require.NoError(t, err)
			request.Header.Set("Accept", accept)
			response, err := server.Client().Do(request)
			require.NoError(t, err)
			_, err = io.ReadAll(response.Body)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "%s %s: the client notices", name, accept)
			require.NoError(t, response.Body.Close())
			require.Error(t, <-failed, "%s %s", name, accept)
			server.Close()
		}
	}
}

func TestServeSendsNoMoreThanPromised(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept", "application/octet-stream")
	sum := sha256.Sum256(make([]byte, 10))
	require.NoError(t, Serve(w, r, newWhole(readerContent{zeros(100), nil, nil}, 10, sum[:]), "", ""))
	require.Equal(t, 10, w.Body.Len())
	require.Equal(t, "attachment", w.Header().Get("Content-Disposition"))
}

func TestServedDocumentsCanBeFetched(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	kept, err := files.PutNew(t.Context(), strings.NewReader(pdf), MaxSize)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, err := files.OpenWhole(kept.Name, kept.Size, kept.SHA256[:])
		if err != nil {
			t.Error(err)
			return
		}
		defer content.Close()
		if err := Serve(w, r, content, kept.Detected, "Lebenslauf Müller.pdf"); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	token, _ := NewToken()
	fetched, err := Fetch(t.Context(), server.Client(), URL(server.URL, token), files, files.NewName())
	require.NoError(t, err)
	require.Equal(t, kept.SHA256, fetched.SHA256)
	require.Equal(t, "application/pdf", fetched.Declared)
	require.Equal(t, "Lebenslauf Müller.pdf", fetched.FileName)
}

func TestPrefersRaw(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":                 false,
		"*/*":              false,
		"application/*":    false,
		"application/json": false,
		"text/html, application/xml;q=0.9, */*;q=0.8": false,
		"application/pdf":                                       false,
		"application/octet-stream":                              true,
		"Application/Octet-Stream; Q=0.5":                       true,
		"application/octet-stream;q=0":                          false,
		"application/octet-stream;q=0, */*":                     false,
		"application/json;q=0, */*":                             true,
		"application/json;q=0":                                  false,
		"application/json, application/octet-stream":            false,
		"application/json;q=0.5, application/octet-stream":      true,
		"application/json;q=0.5,application/octet-stream;q=0.4": false,
		"application/octet-stream, */*;q=0.1":                   true,
		"*/*;q=0.1, application/octet-stream":                   true,
		"application/*;q=0.2, application/json;q=0.1":           true,
		"application/octet-stream;q=2, application/json;q=0.1":  false,
		"application/octet-stream;q=x":                          false,
		"application/octet-stream;q=NaN":                        false,
		",;,  ,application/octet-stream":                        true,
		"application/octet-streams":                             false,
	} {
		require.Equal(t, want, prefersRaw([]string{accept}), accept)
	}
	require.False(t, prefersRaw(nil))
	require.True(t, prefersRaw([]string{"application/json;q=0.1", "application/octet-stream"}), "two headers are one list")
}

func TestAttachment(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                 `attachment`,
		"resume.pdf":       `attachment; filename="resume.pdf"`,
		"my resume;1.pdf":  `attachment; filename="my resume;1.pdf"`,
		"résumé.pdf":       `attachment; filename="r_sum_.pdf"; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf`,
		"a\"b\\c%20\n.pdf": `attachment; filename="a_b_c_20_.pdf"; filename*=UTF-8''a%22b%5Cc%2520%0A.pdf`,
		"€'s (1).txt":      `attachment; filename="_'s (1).txt"; filename*=UTF-8''%E2%82%AC%27s%20%281%29.txt`,
	} {
		require.Equal(t, want, attachment(name))
		if name == "" {
			continue
		}
		_, parameters, err := mime.ParseMediaType(attachment(name))
		require.NoError(t, err)
		require.Equal(t, name, parameters["filename"])
	}
}
