package apply_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	pdf := func(size int) string {
		content := append([]byte("%PDF-1.4\n"), make([]byte, size-9)...)
		return base64.StdEncoding.EncodeToString(content)
	}
	answering := func(board, question, plain string) string { // which the detector would watch being escaped
		return strings.Replace(application(t, board, []answered{{question, "PLAIN"}}), "PLAIN", plain, 1)
	}
	const mega = 1 << 20
	b.requireTaken(b.apply(application(t, code, with(fine(t), "resume", pdf(2*mega-1))), me...))
	w := b.apply(application(t, code, with(fine(t), "resume", pdf(2*mega))), me...)
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Contains(t, w.Body.String(), `{"questionId":"resume","messages":["Resume: `)
	require.Len(t, b.files(), 1)

	b.job("acme", &model.Job{BoardCode: "FILES", ID: "job-5",
		Questions: []model.Question{{ID: "letter", Format: model.File, Label: "Letter"},
			{ID: "why", Format: model.Textarea, Label: "Why"}}})
	b.requireTaken(b.apply(answering("FILES", "letter", pdf(10*mega-1)), me...))
	require.Contains(t, b.apply(answering("FILES", "letter", pdf(10*mega)), me...).Body.String(),
		`"questionId":"letter"`)
	b.requireTaken(b.apply(answering("FILES", "why", strings.Repeat("x", mega)), me...))
	require.Contains(t, b.apply(answering("FILES", "why", strings.Repeat("x", mega+1)), me...).Body.String(),
		`"questionId":"why"`)

	const tooLarge = "the application is larger than any job here asks for"
	b.requireError(b.apply(answering("FILES", "nobody", strings.Repeat("x", 64*mega)), me...),
		http.StatusRequestEntityTooLarge, tooLarge, "null")
	many := make([]model.Question, 6)
	for n := range many {
		many[n] = model.Question{ID: fmt.Sprint("f-", n), Format: model.File, Label: "File"}
	}
	b.job("acme", &model.Job{BoardCode: "MANY", ID: "job-6", Questions: many})
	w = b.apply(answering("FILES", "nobody", strings.Repeat("x", 64*mega)), me...)
	require.Equal(t, http.StatusBadRequest, w.Code, "6 files of 14 MiB and 2 MiB more make 86")
	require.Contains(t, w.Body.String(), "nobody")
	b.requireError(b.apply(answering("FILES", "nobody", strings.Repeat("x", 86*mega)), me...),
		http.StatusRequestEntityTooLarge, tooLarge, "null")
	require.Len(t, b.files(), 2)
}

// Who is revoked while their application arrives has not applied, and learns nothing of what they sent before.
func TestATokenIsRevokedWhileABodyArrives(t *testing.T) {
	t.Parallel()
	b := setup(t)
	body := application(t, code, fine(t))
	for n, end := range []func(tx *store.Tx) (bool, error){
		func(tx *store.Tx) (bool, error) { return tx.ResetAPIUser("acme", "u-1", "another") },
		func(tx *store.Tx) (bool, error) { return tx.DisableAPIUser("acme", "u-1", b.Clock.Now()) },
	} {
		if n > 0 {
			hash, err := hashed()
			require.NoError(t, err)
			b.Write(t, func(tx *store.Tx) error {
				_, err := tx.ResetAPIUser("acme", "u-1", hash)
				return err
			})
		}
		me := append(b.bearer(partner), "Idempotency-Key", "i-1")
		if n > 0 {
			b.requireTaken(b.apply(body, me...))
		}
		kept, files := len(b.applications("acme")), len(b.files())
		w := b.askReading(io.MultiReader(strings.NewReader(body[:len(body)/2]), doing(func() {
			b.Write(t, func(tx *store.Tx) error {
				_, err := end(tx)
				return err
			})
		}), strings.NewReader(body[len(body)/2:])), me...)
		b.requireError(w, http.StatusUnauthorized,
			"the token is unknown, expired or revoked: ask /v2/authentication for a new one", "null")
		require.Contains(t, w.Header().Get("WWW-Authenticate"), "invalid_token")
		require.Len(t, b.applications("acme"), kept)
		require.Len(t, b.files(), files)
		require.Equal(t, n, b.Fingerprints(t))
	}
}

// doing is empty, and does something when it is read.
type doing func()

func (d doing) Read([]byte) (int, error) {
	d()
	return 0, io.EOF
}

// What breaks off is the sender's affair, however it does so, and leaves nothing behind.
func TestABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bearer := b.bearer(partner)[1]
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	begun := application(t, code, fine(t))
	begun = begun[:strings.Index(begun, "JVBERi0")+200] // within the resume, which goes to the disk meanwhile
	for name, sent := range map[string]string{
		"bad chunk":  fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nnot a length\r\n", len(begun), begun),
		"long chunk": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s and more\r\n0\r\n\r\n", len(begun), begun),
		"bad head":   "Transfer-Encoding: chunked\r\n\r\n{\r\n",
		"short":      fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(begun)+1, begun),
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = fmt.Fprintf(connection, "POST /v2/application HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: "+
			"application/json\r\n%s", bearer, sent)
		require.NoError(t, err)
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		require.NoError(t, err, name)
		raw, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, connection.Close())
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, "%s: %s", name, raw)
		require.Contains(t, string(raw), `"message":"the body broke off: send it again","errors":null`, name)
	}
	require.Empty(t, b.Logged.FilterLevelExact(zap.ErrorLevel).All())
	require.Empty(t, b.applications("acme"))
	require.Empty(t, b.files())
}
