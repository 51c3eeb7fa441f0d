package documents

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sample is a Document object as a service sends it.
const sample = `{"content":"JVBERi0xLjQKJSVFT0YK","mimeType":"application/pdf","fileName":"resume.pdf"}`

func decode(r io.Reader) (content, mimeType, fileName string, err error) {
	mimeType, fileName, err = DecodeObject(r, func(r io.Reader) error {
		b, err := io.ReadAll(r)
		content = string(b)
		return err
	})
	return content, mimeType, fileName, err
}

func TestDecodeSample(t *testing.T) {
	t.Parallel()
	for _, r := range []io.Reader{strings.NewReader(sample), iotest.OneByteReader(strings.NewReader(sample))} {
		content, mimeType, fileName, err := decode(r)
		require.NoError(t, err)
		require.Equal(t, "%PDF-1.4\n%%EOF\n", content)
		require.Equal(t, "application/pdf", mimeType)
		require.Equal(t, "resume.pdf", fileName)
	}
	var b strings.Builder
	require.NoError(t, EncodeObject(&b, strings.NewReader("%PDF-1.4\n%%EOF\n"), 15, "application/pdf", "resume.pdf"))
	require.Equal(t, sample, b.String(), "the contract's order of properties")
}

func TestDecodeTolerates(t *testing.T) {
	t.Parallel()
	for document, want := range map[string][3]string{
		`{"fileName":"a.txt","mimeType":"text/plain","content":"aGk="}`: {"hi", "text/plain", "a.txt"},
		`{"content":"aGk"}`:                                  {"hi", "", ""},
		`{"content":"aG\r\nk=\n"}`:                           {"hi", "", ""},
		`{"content":"\/\/8="}`:                               {"\xff\xff", "", ""},
		`{"content":"\u0061Gk="}`:                            {"hi", "", ""},
		`{"content":""}`:                                     {"", "", ""},
		`{"content":"aGk=","mimeType":null,"fileName":null}`: {"hi", "", ""},
		` { "id" : {"value":[1,{"content":"no"}]} , "content" : "aGk=" , "more" : [[],"x",1.5e3] } `: {"hi", "", ""},
		`{"Content":1,"content":"aGk="}`:                                       {"hi", "", ""},
		`{"content":"aGk=","fileName":"C:\\docs\\..\\r\u00e9sum\u00e9\n.pdf"}`: {"hi", "", "résumé.pdf"},
	} {
		content, mimeType, fileName, err := decode(strings.NewReader(document))
		require.NoError(t, err, document)
		require.Equal(t, want, [3]string{content, mimeType, fileName}, document)
	}
	long := strings.Repeat("x", 300) + ".pdf"
	_, _, fileName, err := decode(strings.NewReader(`{"content":"aGk=","fileName":"` + long + `"}`))
	require.NoError(t, err, "a long name costs nobody their document")
	require.Equal(t, strings.Repeat("x", 251)+".pdf", fileName)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		``:                                 "ends too early",
		`[]`:                               "an object is expected",
		`"content"`:                        "an object is expected",
		`null`:                             "an object is expected",
		`{}`:                               "it has no content",
		`{"content":null}`:                 "it has no content",
		`{"document":{"content":"aGk="}}`:  "it has no content",
		`{"content":1}`:                    "a string is expected",
		`{"content":{"content":"aGk="}}`:   "a string is expected",
		`{"content":"aGk=","mimeType":1}`:  "a string is expected",
		`{"content":"aGk=","fileName":[]}`: "a string is expected",
		`{"content":"aGk=","content":"x"}`: "stands twice",
		`{"content":"aGk=","a":1,"a":1}`:   "stands twice",
		`{"content":"aGk=","fileName":"a","fileName":"a"}`: "stands twice",
		`{"content":"secret stuff"}`:                       "not standard base64",
		`{"content":"a"}`:                                  "not standard base64",
		`{"content":"aGk=`:                                 "ends within a string",
		`{"content":"aGk="`:                                "ends too early",
		`{"content":"aGk="} {}`:                            "something follows",
		"{\"content\":\"aG\nk=\"}":                         "control character",
		`{"content":"aGk=","mimeType":"` + strings.Repeat("m", 256) + `"}`:  "longer than allowed",
		`{"content":"aGk=","fileName":"` + strings.Repeat("f", 4097) + `"}`: "longer than allowed",
		`{"content":"aGk=","` + strings.Repeat("n", 256) + `":1}`:           "longer than allowed",
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`: "nested too deeply",
	} {
		_, mimeType, fileName, err := decode(strings.NewReader(document))
		var e *ObjectError
		require.ErrorAs(t, err, &e, document)
		require.Contains(t, e.Reason, want, document)
		require.NotContains(t, err.Error(), "secret")
		require.Empty(t, mimeType+fileName)
	}
}

func TestDecodeGivesOtherErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	_, _, _, err := decode(io.MultiReader(strings.NewReader(sample[:20]), iotest.ErrReader(broken)))
	require.Equal(t, broken, err)
	_, _, err = DecodeObject(strings.NewReader(sample), func(io.Reader) error { return ErrTooLarge })
	require.Equal(t, ErrTooLarge, err)
	_, _, err = DecodeObject(strings.NewReader(`{"content":"!"}`), func(r io.Reader) error {
		_, err := io.ReadAll(r)
		return fmt.Errorf("keeping: %w", err)
	})
	require.ErrorContains(t, err, "this is not a Document object: its content is not standard base64")
}

func TestEncodeGivesErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	require.ErrorIs(t, EncodeObject(io.Discard, iotest.ErrReader(broken), 1, "", ""), broken)
	_, closed := io.Pipe()
	require.NoError(t, closed.CloseWithError(broken))
	for _, size := range []int64{0, 1 << 20} {
		require.ErrorIs(t, EncodeObject(closed, zeros(size), size, "", ""), io.ErrClosedPipe)
	}
}

func TestObjectRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), -1, 5000).Draw(t, "content")
		mimeType := rapid.StringN(0, 60, maxMediaType).Draw(t, "mimeType")
		fileName := rapid.StringN(0, 400, 2000).Draw(t, "fileName")
		var b bytes.Buffer
		require.NoError(t, EncodeObject(&b, bytes.NewReader(content), int64(len(content)), mimeType, fileName))
		require.EqualValues(t, b.Len(), EncodedLength(int64(len(content)), mimeType, fileName))
		require.True(t, json.Valid(b.Bytes()))

		gotContent, gotType, gotName, err := decode(iotest.HalfReader(&b))
		require.NoError(t, err)
		require.Equal(t, string(content), gotContent)
		require.Equal(t, mimeType, gotType)
		require.Equal(t, cleanName(fileName), gotName)
	})
}

func TestObjectsTakeLittleMemory(t *testing.T) {
	const size = 20 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(EncodeObject(w, zeros(size), size, "application/pdf", "resume.pdf")) }()
	var n int64
	_, _, err := DecodeObject(r, func(content io.Reader) (err error) {
		n, err = io.Copy(io.Discard, content)
		return err
	})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "encoding and decoding together")
}

// FuzzDecodeObject checks that what is taken for a Document object is one for encoding/json too, with the same values.
func FuzzDecodeObject(f *testing.F) {
	for _, seed := range []string{
		sample, `{}`, `{"content":"aG\r\nk=","x":[{}]}`, `{"content":"\/\/8","fileName":"\ud83d\ude00"}`, `{"content":null}`,
		`{"mimeType":null,"content":"+\u002f=="}`, "{\"content\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		content, mimeType, fileName, err := decode(iotest.HalfReader(bytes.NewReader(document)))
		if err != nil {
			var e *ObjectError
			require.ErrorAs(t, err, &e)
			return
		}
		members := map[string]json.RawMessage{}
		require.NoError(t, json.Unmarshal(document, &members))
		member := func(name string) (s string) {
			if raw, ok := members[name]; ok {
				require.NoError(t, json.Unmarshal(raw, &s))
			}
			return s
		}
		require.Contains(t, members, "content")
		encoded := strings.NewReplacer("\r", "", "\n", "", "=", "").Replace(member("content"))
		want, err := base64.RawStdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		require.Equal(t, string(want), content)
		require.Equal(t, member("mimeType"), mimeType)
		require.Equal(t, cleanName(member("fileName")), fileName)
	})
}
