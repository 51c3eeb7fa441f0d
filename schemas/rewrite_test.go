package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRewrite(t *testing.T) {
	t.Parallel()
	body := sample(t, "export-full.json")
	doc := guarded(t, body)
	before := bytes.Clone(body)

	out := doc.Rewrite(body, []string{"", "https://gate.example.com/documents/x?a=1&b=<2>"})
	want := bytes.Replace(body, []byte("http://127.0.0.1:9099/documents/doc-2"),
		[]byte("https://gate.example.com/documents/x?a=1&b=<2>"), 1)
	require.Equal(t, string(want), string(out))

	require.Equal(t, body, doc.Rewrite(body, nil))
	require.Equal(t, body, doc.Rewrite(body, []string{""}))
	require.Equal(t, before, body)

	const odd = "\"quoted\"\\\n\x00\u2028é"
	again := guarded(t, doc.Rewrite(body, []string{odd, "b"}))
	require.Equal(t, odd, again.Attachments[0].URL)
	require.Equal(t, "b", again.Attachments[1].URL)
	// Bad UTF-8 in an address must not make a body that the guard refuses.
	guarded(t, doc.Rewrite(body, []string{"http://\xff", ""}))
}

func TestRewriteToWritesBehindTheURL(t *testing.T) {
	t.Parallel()
	body := []byte(`{"candidate":{"profiles":[{"attachments":[{"url" : "a" ,"id":{}},{"id":{},"url":"b"},{"document":null,"url":"c"},{"url":7}]}]}}`)
	doc := guarded(t, body)
	require.Equal(t, []bool{false, false, true}, []bool{doc.Attachments[0].HasDocument, doc.Attachments[1].HasDocument,
		doc.Attachments[2].HasDocument})
	var out bytes.Buffer
	write := func(i int) error {
		_, err := fmt.Fprintf(&out, `,"document":%d`, i)
		return err
	}
	require.NoError(t, doc.RewriteTo(&out, body, []string{"", "B"}, write))
	require.Equal(t,
		`{"candidate":{"profiles":[{"attachments":[{"url" : "a","document":0 ,"id":{}},{"id":{},"url":"B","document":1},`+
			`{"document":null,"url":"c","document":2},{"url":7}]}]}}`, out.String())

	failed := errors.New("no room")
	require.ErrorIs(t, doc.RewriteTo(&out, body, nil, func(int) error { return failed }), failed)
}

// Whatever a body looks like, only the URLs change: the same body written with the new URLs is what comes out.
func TestRewriteLeavesAllOtherBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		space := func() string { return rapid.StringOfN(rapid.SampledFrom([]rune(" \t\r\n")), 0, 3, -1).Draw(t, "space") }
		text := rapid.String()
		extra := rapid.SampledFrom([]string{
			``, `"x":1e3,`, `"x":{"url":"\u0041"},`, `"descriptions":["\ud83d\ude00",null],`, `"more":[[],{}],`,
			`"id":{"value":"\"url\":"},`, `"a\/b":"é",`,
		})
		quote := func(s string) string {
			quoted, err := json.Marshal(s)
			require.NoError(t, err)
			return string(quoted)
		}

		var old, new, urls, parts []string // parts lie between the URLs
		part := space() + `{` + extra.Draw(t, "extra") + `"candidate":{"profiles"` + space() + `:[`
		for p := range rapid.IntRange(0, 3).Draw(t, "profiles") {
			if p > 0 {
				part += space() + `,`
			}
			part += `{` + extra.Draw(t, "extra") + space() + `"attachments":[`
			for a := range rapid.IntRange(0, 3).Draw(t, "attachments") {
				if a > 0 {
					part += `,` + space()
				}
				part += `{` + extra.Draw(t, "extra") + `"url"` + space() + `:` + space()
				parts = append(parts, part)
				u := text.Draw(t, "url")
				old = append(old, quote(text.Draw(t, "old")))
				urls = append(urls, u)
				if u == "" {
					new = append(new, old[len(old)-1])
				} else {
					new = append(new, quote(u))
				}
				part = space() + `}`
			}
			part += space() + `]}`
		}
		part += `]}}` + space()
		join := func(tokens []string) []byte {
			var b bytes.Buffer
			for i, p := range parts {
				b.WriteString(p + tokens[i])
			}
			b.WriteString(part)
			return b.Bytes()
		}

		body := join(old)
		doc, err := Guard(body)
		require.NoError(t, err)
		require.Len(t, doc.Attachments, len(urls))
		out := doc.Rewrite(body, urls)

		// The tokens may be escaped in another way than encoding/json does it; all else is compared byte for byte.
		again, err := Guard(out)
		require.NoError(t, err)
		var tokens []string
		for i, a := range again.Attachments {
			tokens = append(tokens, string(out[a.Start:a.End]))
			var want string
			require.NoError(t, json.Unmarshal([]byte(new[i]), &want))
			require.Equal(t, want, a.URL, fmt.Sprint(i))
		}
		require.Equal(t, string(join(tokens)), string(out))
	})
}
