package jsonstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// skip reads a whole document without looking at it.
func skip(r io.Reader) error {
	in := NewReader(r)
	if err := in.Skip(); err != nil {
		return err
	}
	return in.End()
}

func TestObjectGivesMembersInOrder(t *testing.T) {
	t.Parallel()
	in := NewReader(strings.NewReader(` {"b":[1,"x",{"y":null}] , "a" : "text","c":"","d":{}} ` + "\n"))
	var got []string
	require.NoError(t, in.Object(func(name string) error {
		kind, err := in.Next()
		require.NoError(t, err)
		entry := name + string(rune(kind))
		if kind == String {
			value, err := in.String(10)
			got = append(got, entry+value)
			return err
		}
		got = append(got, entry)
		return in.Skip()
	}))
	require.NoError(t, in.End())
	require.Equal(t, []string{"b[", `a"text`, `c"`, "d{"}, got)
}

func TestArray(t *testing.T) {
	t.Parallel()
	in := NewReader(strings.NewReader(`["a","b"]`))
	var got []string
	require.NoError(t, in.Array(func() error {
		s, err := in.String(1)
		got = append(got, s)
		return err
	}))
	require.Equal(t, []string{"a", "b"}, got)
}

func TestStringIsUnescaped(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`""`:                       "",
		`"abc"`:                    "abc",
		`"\"\\\/\b\f\n\r\t"`:       "\"\\/\b\f\n\r\t",
		`"\u0041\u00e9\u20AC"`:     "Aé€",
		`"\ud83d\uDE00!"`:          "😀!",
		`"aé€😀z"`:                  "aé€😀z",
		`"` + "\u007f\ufffd" + `"`: "\u007f\ufffd",
	} {
		for _, r := range []io.Reader{strings.NewReader(raw), iotest.OneByteReader(strings.NewReader(raw))} {
			got, err := NewReader(r).String(100)
			require.NoError(t, err, raw)
			require.Equal(t, want, got)
		}
		var got []byte
		require.NoError(t, NewReader(strings.NewReader(raw)).Text(func(text io.Reader) (err error) {
			got, err = io.ReadAll(iotest.OneByteReader(text))
			return err
		}))
		require.Equal(t, want, string(got), "read byte by byte")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, document := range []string{
		``, ` `, `{`, `[`, `"`, `"a`, `"\`, `"\u00`, `{"a"`, `{"a":`, `{"a":1`, `[1,`,
		`{a:1}`, `{"a" 1}`, `{"a":1,}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1 "b":2}`, `{1:2}`, `[1}`,
		`tru`, `trux`, `nul`, `falsy`, `True`, `+1`, `-`, `-x`, `01`, `1.`, `.5`, `1e`, `1e+`, `1.e1`, `NaN`, `0x1`,
		"\"a\nb\"", "\"\x00\"", `"\x"`, `"\u00g0"`, `"\ud800"`, `"\ud800x"`, `"\ud800\n"`, `"\ud800\u0041"`, `"\udc00\ud800"`,
		"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\ufeff{}",
		`{} {}`, `1 2`, `"a"x`, deep,
	} {
		var e *Error
		require.ErrorAs(t, skip(strings.NewReader(document)), &e, "%q", document)
		require.NotEmpty(t, e.Reason)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	object := func(document string) error {
		in := NewReader(strings.NewReader(document))
		return in.Object(func(string) error { return in.Skip() })
	}
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	require.NoError(t, object(members(MaxMembers)))
	require.ErrorContains(t, object(members(MaxMembers+1)), "too many members")

	require.NoError(t, object(`{"`+strings.Repeat("n", MaxName)+`":0}`))
	require.ErrorContains(t, object(`{"`+strings.Repeat("n", MaxName+1)+`":0}`), "longer than allowed")

	require.ErrorContains(t, object(`{"a":1,"b":2,"\u0061":3}`), "twice")
	require.NoError(t, object(`{"a":{"b":1,"b":2}}`), "what is skipped may hold a name twice")

	require.NoError(t, skip(strings.NewReader(strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth))))
	require.NoError(t, object(`{"a":`+strings.Repeat("[", MaxDepth-1)+strings.Repeat("]", MaxDepth-1)+`}`))
	require.ErrorContains(t, object(`{"a":`+strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth)+`}`), "deeply")
	require.NoError(t, skip(strings.NewReader("["+strings.Repeat("[],", 1000)+"{}]")), "siblings are no depth")

	_, err := NewReader(strings.NewReader(`"12345"`)).String(4)
	require.ErrorContains(t, err, "longer than allowed")
	value, err := NewReader(strings.NewReader(`"1234"`)).String(4)
	require.NoError(t, err)
	require.Equal(t, "1234", value)
}

func TestOtherKindThanAskedFor(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, NewReader(strings.NewReader(`[]`)).Object(nil), "an object is expected")
	require.ErrorContains(t, NewReader(strings.NewReader(`{}`)).Array(nil), "an array is expected")
	_, err := NewReader(strings.NewReader(`1`)).String(1)
	require.ErrorContains(t, err, "a string is expected")
}

func TestErrorsDoNotQuoteTheDocument(t *testing.T) {
	t.Parallel()
	in := NewReader(strings.NewReader(`{"ada":"lovelace","ada":"x"}`))
	err := in.Object(func(string) error { return in.Skip() })
	require.Error(t, err)
	require.NotContains(t, err.Error(), "ada")
	require.NotContains(t, err.Error(), "lovelace")
	require.Contains(t, err.Error(), "(byte 23)")
}

func TestReadErrorsComeThrough(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for _, start := range []string{``, `{`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1e`, `{"a":"x\`, `{"a":"x\u00`,
		`{"a":tr`, `{}`} {
		err := skip(io.MultiReader(strings.NewReader(start), iotest.ErrReader(broken)))
		require.Equal(t, broken, err, "after %s", start)
	}
}

func TestTextDropsWhatIsLeft(t *testing.T) {
	t.Parallel()
	in := NewReader(strings.NewReader(`["` + strings.Repeat("long", 20_000) + `","next"]`))
	var got []string
	require.NoError(t, in.Array(func() error {
		return in.Text(func(text io.Reader) error {
			b := make([]byte, 4)
			n, err := text.Read(b)
			got = append(got, string(b[:n]))
			return err
		})
	}))
	require.Equal(t, []string{"long", "next"}, got)

	stop := errors.New("stop")
	require.Equal(t, stop, NewReader(strings.NewReader(`"a"`)).Text(func(io.Reader) error { return stop }))
	require.Error(t, NewReader(strings.NewReader(`"a\x"`)).Text(func(text io.Reader) error {
		_, _ = io.ReadAll(text)
		return nil
	}), "an error that the caller ignored is returned all the same")
}

func TestMemoryDoesNotGrowWithTheDocument(t *testing.T) {
	const size = 16 << 20
	document := io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(endless('x'), size),
		strings.NewReader(`","b":`),
		io.LimitReader(endless('7'), size), strings.NewReader(`}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, skip(document))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<10))
}

// endless repeats one byte.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// FuzzSkip compares with an independent parser that follows the same RFC as strictly, and has no bound of 64 on depth.
func FuzzSkip(f *testing.F) {
	for _, seed := range []string{`{}`, `[1,-0.5e+9,true,null]`, `{"a":"\ud83d\ude00\/é"}`, `"\ud800"`, `{"a":1,"a":2}`,
		"\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		err := skip(iotest.HalfReader(bytes.NewReader(document)))
		if err != nil && strings.Contains(err.Error(), "nested too deeply") {
			return
		}
		valid := jsontext.Value(document).IsValid(jsontext.AllowDuplicateNames(true))
		require.Equal(t, valid, err == nil, "%q: %v", document, err)
	})
}
