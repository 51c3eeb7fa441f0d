package webhook_test

import (
	"bytes"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/webhook"
)

// The test cases of RFC 4231, section 4; but for case 5, whose output is truncated.
var rfc4231 = []struct{ key, data, mac string }{
	{strings.Repeat("\x0b", 20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
	{"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
	{strings.Repeat("\xaa", 20), strings.Repeat("\xdd", 50),
		"773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
	{
		"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19",
		strings.Repeat("\xcd", 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
	},
	{
		strings.Repeat("\xaa", 131), "Test Using Larger Than Block-Size Key - Hash Key First",
		"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
	},
	{
		strings.Repeat("\xaa", 131),
		"This is a test using a larger than block-size key and a larger than block-size data. " +
			"The key needs to be hashed before being used by the HMAC algorithm.",
		"9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
	},
}

func TestRFC4231(t *testing.T) {
	t.Parallel()
	for _, v := range rfc4231 {
		require.Equal(t, v.mac, webhook.Sign(v.key, []byte(v.data)))
		require.True(t, webhook.Verify(v.mac, []byte(v.data), v.key))
	}
}

func TestSignAgreesWithOpenSSL(t *testing.T) {
	t.Parallel()
	body := []byte("{\"data\":\"Service Verify Event\"}\r\n\x00\xff é")
	require.Equal(t, openssl(t, "hris-secret", body), webhook.Sign("hris-secret", body))
}

// openssl returns the signature as a program that shares no code with us makes it.
func openssl(t *testing.T, secret string, body []byte) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "openssl", "dgst", "-sha256", "-hmac", secret, "-r")
	cmd.Stdin = bytes.NewReader(body)
	out, err := cmd.Output()
	require.NoError(t, err)
	sum, _, ok := strings.Cut(string(out), " ")
	require.True(t, ok, "%q", out)
	return sum
}

func TestVerify(t *testing.T) {
	t.Parallel()
	body := []byte(`{"candidate":{}}`)
	good := webhook.Sign("new", body)
	require.Equal(t, strings.ToLower(good), good)

	require.True(t, webhook.Verify(good, body, "new"))
	require.True(t, webhook.Verify(strings.ToUpper(good), body, "new"), "hex in either case")
	require.True(t, webhook.Verify(good[:32]+strings.ToUpper(good[32:]), body, "new"))
	require.True(t, webhook.Verify(good, body, "old", "new"), "the second of two secrets")
	require.True(t, webhook.Verify(good, body, "new", "old"), "the first of two secrets")
	require.True(t, webhook.Verify(good, body, "new", "new"))

	require.Equal(t, 2, webhook.Match(good, body, "old", "new"))
	require.Equal(t, 1, webhook.Match(good, body, "new", "old"))
	require.Zero(t, webhook.Match(good, body, "old", "older"))

	require.False(t, webhook.Verify(good, body), "no secret")
	require.False(t, webhook.Verify(good, body, "old"))
	require.False(t, webhook.Verify(good, body, "old", "older"))
	require.False(t, webhook.Verify(good, append(body, ' '), "new"), "one byte more")
	require.False(t, webhook.Verify(webhook.Sign("", body), body, ""), "an empty secret is none")
	for _, malformed := range []string{
		"", good[:63], good[:62], good + "0", good + "00", "sha256=" + good, " " + good, good[:63] + "g",
		strings.Repeat("z", 64), strings.Repeat("é", 32),
	} {
		require.False(t, webhook.Verify(malformed, body, "new"), "%q", malformed)
	}
	for i := range good {
		flipped := []byte(good)
		flipped[i] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", good[i])+1)%16]
		require.False(t, webhook.Verify(string(flipped), body, "new"), "digit %d", i)
	}
}

func FuzzVerify(f *testing.F) {
	body := []byte(`{"data":"Service Verify Event"}`)
	good := webhook.Sign("secret", body)
	for _, seed := range []string{"", good, strings.ToUpper(good), good[1:], good + "\n", strings.Repeat("0", 64),
		strings.Repeat("\xff", 64)} {
		f.Add(seed, body)
	}
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		want := webhook.Sign("secret", body)
		_, err := hex.DecodeString(header)
		require.Equal(t, err == nil && strings.EqualFold(header, want), webhook.Verify(header, body, "other", "secret"))
		require.True(t, webhook.Verify(want, body, "secret"))
		require.False(t, webhook.Verify(header, body))
	})
}

func BenchmarkVerify(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 3<<10)
	header := webhook.Sign("acme-secret", body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if !webhook.Verify(header, body, "acme-secret") {
			b.Fatal("a good signature was refused")
		}
	}
}
