package signature

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/webhook"
)

const vectors = "../../../testdata/vectors"

func part(t *testing.T, vector, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(vectors, vector, name))
	require.NoError(t, err)
	return raw
}

// Each vector is judged as its verdict says, by the receiver and by explain; and each attempt has a vector.
func TestVectors(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(vectors)
	require.NoError(t, err)
	shown := map[string]bool{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		vector := entry.Name()
		body, secret, header := part(t, vector, "body"), part(t, vector, "secret"), string(part(t, vector, "signature"))
		verdict, reason, _ := strings.Cut(strings.TrimSpace(string(part(t, vector, "verdict"))), "\n")
		require.Equal(t, verdict == "accept", webhook.Verify(header, body, string(bytes.TrimRight(secret, "\r\n"))), vector)

		folder := filepath.Join(vectors, vector)
		out, hints, err := clitest.Run(t.Context(), Command(), "explain", "--body", filepath.Join(folder, "body"),
			"--secret", filepath.Join(folder, "secret"), "--header", header)
		require.NotContains(t, out+hints, string(bytes.TrimSpace(secret)))
		switch {
		case reason != "":
			require.EqualError(t, err, "the signature does not match as it is", "%s: %s", vector, out)
			require.Regexp(t, `^The signature matches with this difference:\n  .*\.\n$`, out, vector)
			require.Contains(t, out, "\n  "+reason+": ", vector)
			shown[reason] = true
		case verdict == "accept":
			require.NoError(t, err, vector)
			require.Equal(t, "The signature matches.\n", out, vector)
		default:
			require.ErrorContains(t, err, "nothing we tried matches", vector)
		}
	}
	for _, a := range append(attempts, truncated) {
		if a.name != asIs && !strings.Contains(a.name, "another one of the list") {
			require.True(t, shown[a.name], "no vector shows that %s", a.name)
		}
	}
}

func TestAnotherSecretOfTheList(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(vectors, "right")
	out, _, err := clitest.Run(t.Context(), Command(), "explain", "--body", filepath.Join(folder, "body"),
		"--secret", clitest.File(t, "new", []byte("the next one\n")), "--secret", filepath.Join(folder, "secret"),
		"--header", string(part(t, "right", "signature")))
	require.Error(t, err)
	require.Contains(t, out, "the secret is another one of the list: the sender signs with that one")
}

func TestOtherEventsBody(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(vectors, "right")
	out, _, err := clitest.Run(t.Context(), Command(), "explain", "--body", clitest.File(t, "body", []byte(`{"candidate":{}}`)),
		"--secret", filepath.Join(folder, "secret"), "--other", filepath.Join(folder, "body"),
		"--header", string(part(t, "right", "signature")))
	require.Error(t, err)
	require.Contains(t, out, "the body is another event's: take body and header from the same request")
}

// Two mistakes of different kinds are found together.
func TestTwoMistakes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(vectors, "json-sorted")
	out, _, err := clitest.Run(t.Context(), Command(), "explain", "--body", filepath.Join(folder, "body"),
		"--secret", clitest.File(t, "quoted", append([]byte("'"), append(part(t, "json-sorted", "secret"), '\'')...)),
		"--header", "sha256="+strings.ToUpper(string(part(t, "json-sorted", "signature"))))
	require.Error(t, err)
	require.Contains(t, out, "the header begins with sha256=: ")
	require.Contains(t, out, "the secret has white space or quotes around it: ")
	require.Contains(t, out, "the JSON was made compact, with keys sorted: ")
}

func TestHintsWithoutAMatch(t *testing.T) {
	t.Parallel()
	out, _, err := clitest.Run(t.Context(), Command(), "explain", "--body", clitest.File(t, "body", []byte(`{"candidate":`)),
		"--secret", filepath.Join(vectors, "right", "secret"), "--header", "none")
	require.ErrorContains(t, err, "nothing we tried matches")
	require.Contains(t, out, "The header is not 64 hex digits")
	require.Contains(t, out, "The body is not complete JSON")
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(vectors, "right", "secret")
	for want, args := range map[string][]string{
		"which body?":                 {},
		"which secret?":               {"--body", secret},
		"which signature?":            {"--body", secret, "--secret", secret},
		"longer than 1 KiB":           {"--body", secret, "--secret", secret, "--header", strings.Repeat("0", 1025)},
		"is empty: put the secret":    {"--body", secret, "--secret", clitest.File(t, "empty", nil), "--header", "0"},
		"--service-name":              {"--body", secret, "--secret", secret, "--header", "0", "--service-name", "a b"},
		"no such file":                {"--body", "/nowhere", "--secret", secret, "--header", "0"},
		"did you mean --secret-file?": {"--secrets-file", secret},
	} {
		_, _, err := clitest.Run(t.Context(), Command(), append([]string{"explain"}, args...)...)
		require.ErrorContains(t, err, want)
	}
}
