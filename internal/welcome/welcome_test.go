package welcome_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/welcome"
)

// Each page exists in each language, and its policy lets in nothing but its own style.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, place := range []string{welcome.Gateway, welcome.Manage, welcome.Apply} {
		seen := map[string]bool{}
		for accepted, lang := range map[string]string{"": "en", "de-AT,en;q=0.5": "de", "fr": "en", "\x00": "en"} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept-Language", accepted)
			w := httptest.NewRecorder()
			welcome.Show(w, r, http.StatusOK, place)
			require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
			require.Equal(t, lang, w.Header().Get("Content-Language"))
			require.Contains(t, w.Body.String(), `<html lang="`+lang+`">`)
			require.Regexp(t, `<h1>[^<]{5,}</h1>\n<p class="lead">[^<]{20,}</p>\n<ul>(<li>[^<]{20,}</li>){2,}</ul>`,
				w.Body.String())
			style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(w.Body.String())[1]
			sum := sha256.Sum256([]byte(style))
			require.Equal(t, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
				"'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
				w.Header().Get("Content-Security-Policy"))
			seen[w.Body.String()] = true
		}
		require.Len(t, seen, 2, "a page of its own in each language")
	}
}

func TestWantsPage(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,*/*;q=0.8": true, "*/*": false, "": false, "application/json": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		require.Equal(t, want, welcome.WantsPage(r), accept)
	}
}
