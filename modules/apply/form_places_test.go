package apply_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Seven addresses that send slowly take all places, and keep nobody out: of the one that has most of them, the slowest
// form ends.
func TestSlowFormsGiveWay(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	type slow struct {
		body *io.PipeWriter
		done chan int // the status of its answer
	}
	var all []slow
	for n := range 64 {
		in, out := io.Pipe()
		r := httptest.NewRequest(http.MethodPost, "/NURSE-1", in)
		r.Header.Set(contentType, "multipart/form-data; boundary=b")
		r.RemoteAddr = fmt.Sprintf("192.0.2.%d", 100+n%7) // the first one has ten places, the others nine
		one := slow{out, make(chan int, 1)}
		all = append(all, one)
		go func() {
			w := httptest.NewRecorder()
			b.form.ServeHTTP(w, r)
			_ = in.Close()
			one.done <- w.Code
		}()
		sent := []string{strings.Repeat("-", 20), "-"} // the second one is read after the first one was counted
		if n == 7 {
			sent = []string{"-"}
		}
		for _, part := range sent {
			_, err := io.WriteString(out, part)
			require.NoError(t, err)
		}
	}
	post := func(address string) int { return b.post("/NURSE-1", filled(), b.resume(), "From", address).Code }
	require.Equal(t, http.StatusTooManyRequests, post("192.0.2.7"), "all have just begun")
	b.Clock.Advance(time.Second)
	require.Equal(t, http.StatusOK, post("192.0.2.7"))
	for n, one := range all {
		_, _ = io.WriteString(one.body, "-")
		_ = one.body.Close()
		if n == 7 {
			require.Equal(t, http.StatusTooManyRequests, <-one.done)
		} else {
			require.Equal(t, http.StatusUnprocessableEntity, <-one.done, "%d: it has no answers", n)
		}
	}
	require.Equal(t, http.StatusOK, b.post("/NURSE-1", but(filled(), "once", "key-2"), b.resume(), "From", "192.0.2.8").Code)
}
