package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFetchStatus(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for status, verdict := range map[int]Verdict{
		204: Retry, 206: Retry, 301: Retry, 302: Retry, 304: Retry, 307: Retry, 308: Retry, 500: Retry, 502: Retry,
		503: Retry,
		408: Retry, 425: Retry, 429: Retry,
		400: GiveUpAfterTries, 401: GiveUpAfterTries, 403: GiveUpAfterTries, 404: GiveUpAfterTries, 410: GiveUp,
		451: GiveUpAfterTries,
	} {
		asked := 0
		_, err := fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Location", "/elsewhere/secret")
			w.WriteHeader(status)
		})
		e := failure(t, files, err)
		require.Equal(t, status, e.Status)
		require.Equal(t, verdict, e.Verdict(), status)
		require.Equal(t, 1, asked, "no redirect is followed")
		class := ClassStatus
		if status/100 == 3 {
			class = ClassRedirect
		}
		require.Equal(t, class, e.Class)
		require.Regexp(t, fmt.Sprintf(`^127\.0\.0\.1 answered (%d, and |%d instead of the document: )`,
			status, status), err.Error())
	}
	require.Equal(t, 3, GiveUpTries)
}

// Who reads why a document is missing finds what happened, where, and what to do.
func TestFetchErrorsAreSentences(t *testing.T) {
	t.Parallel()
	for _, class := range []string{ClassRefused, ClassTooLarge, ClassRedirect, ClassStatus, ClassTimeout, ClassCanceled,
		ClassConnection, ClassEncoding, ClassStore} {
		e := &FetchError{Class: class, Status: 503, Host: "files.example"}
		require.Regexp(t, `^[^:]*files\.example[^:]*: .{15,}$`, e.Error(), class)
	}
	require.Regexp(t, `: its service has to send another one$`, (&FetchError{Class: ClassURL}).Error())
}

func TestFetchURL(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for _, rawURL := range []string{"", "secret", "/secret", "ftp://files.example/secret", "file:///etc/secret",
		"https:///secret", "https://x/%zzsecret", "https://x\n/secret"} {
		_, err := Fetch(t.Context(), http.DefaultClient, rawURL, files, files.NewName())
		e := failure(t, files, err)
		require.Equal(t, ClassURL, e.Class, rawURL)
		require.Equal(t, GiveUp, e.Verdict())
	}
}

// refusedError is what internal/egress makes of an address that is not allowed, by shape.
type refusedError struct{}

func (refusedError) Error() string         { return "refused: https://files.example/secret" }
func (refusedError) RefusedByEgress() bool { return true }

func TestFetchRefusedByEgress(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return nil, fmt.Errorf("dialing: %w", refusedError{})
		}}}
	_, err := Fetch(t.Context(), client, "http://files.example/secret", files, files.NewName())
	e := failure(t, files, err)
	require.Equal(t, ClassRefused, e.Class)
	require.Equal(t, GiveUp, e.Verdict(), "at once")
	require.EqualError(t, err, "nothing was fetched from files.example, because egress refuses its address: if it is to "+
		"be reached, allow it with egress allow")
}

func TestFetchConnection(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	_, err := Fetch(t.Context(), http.DefaultClient, closed.URL+"/secret", files, files.NewName())
	e := failure(t, files, err)
	require.Equal(t, ClassConnection, e.Class)
	require.Equal(t, Retry, e.Verdict())

	for _, contentType := range []string{"application/pdf", "application/json"} {
		_, err = fetchFrom(t, files, "/secret", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, sample)
		})
		e = failure(t, files, err)
		require.Equal(t, ClassConnection, e.Class, "a file that broke off is not kept")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	for _, sendHeader := range []bool{false, true} {
		release := make(chan struct{})
		reached := make(chan struct{}, 2)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if sendHeader {
				_ = http.NewResponseController(w).Flush()
			}
			reached <- struct{}{}
			<-release
		}))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-reached; cancel(errors.New("shutting down")) }()
		_, err := Fetch(ctx, server.Client(), server.URL+"/secret", files, files.NewName())
		e := failure(t, files, err)
		require.Equal(t, ClassCanceled, e.Class)
		require.Equal(t, Retry, e.Verdict())

		late, stop := context.WithDeadline(t.Context(), time.Now().Add(100*time.Millisecond))
		_, err = Fetch(late, server.Client(), server.URL+"/secret", files, files.NewName())
		stop()
		e = failure(t, files, err)
		require.Equal(t, ClassTimeout, e.Class)
		require.Equal(t, Retry, e.Verdict())

		impatient := *server.Client()
		impatient.Timeout = 100 * time.Millisecond
		_, err = Fetch(t.Context(), &impatient, server.URL+"/secret", files, files.NewName())
		require.Equal(t, ClassTimeout, failure(t, files, err).Class)
		close(release)
		server.Close()
	}
}

func TestFetchEndsAfterTwoMinutes(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		start := time.Now()
		_, err := Fetch(t.Context(), client, "https://files.example/secret", files, files.NewName())
		require.Equal(t, ClassTimeout, failure(t, files, err).Class)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestFetchWithABrokenStore(t *testing.T) {
	t.Parallel()
	files := &Files{medium: folder(filepath.Join("/proc", "self", "documents"))}
	_, err := fetchFrom(t, files, "/secret", answer("application/pdf", pdf))
	var e *FetchError
	require.ErrorAs(t, err, &e)
	require.Equal(t, ClassStore, e.Class)
	require.Equal(t, Retry, e.Verdict(), "our fault costs nobody their document")

	e = newFetchError(t.Context(), "files.example", fmt.Errorf("writing: %w", ErrFull))
	require.Equal(t, ClassStore, e.Class)
	require.ErrorIs(t, e, ErrFull)
}

func TestFetchErrorHasNoURLInAnyForm(t *testing.T) {
	t.Parallel()
	files := newFiles(t)
	_, err := fetchFrom(t, files, "/secret?key=secret", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://%zz/secret") // net/http quotes it in its error
		w.WriteHeader(http.StatusFound)
	})
	e := failure(t, files, err)
	asJSON, marshalErr := json.Marshal(e)
	require.NoError(t, marshalErr)
	for _, text := range []string{string(asJSON), fmt.Sprintf("%v", e), fmt.Sprintf("%+v", e), fmt.Sprintf("%s", e),
		fmt.Sprintf("%q", e)} {
		require.NotContains(t, text, "secret")
	}
}
