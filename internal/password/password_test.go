package password_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/password"
)

// verify compares as for somebody who signs in.
func verify(ctx context.Context, hash, plain string) (bool, error) {
	a, _ := password.NewFailures(time.Now).Try("ada", "192.0.2.1")
	return a.Verify(ctx, hash, plain)
}

func TestHashAndVerify(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hash, err := password.Hash(ctx, "correct horse")
	require.NoError(t, err)
	require.Regexp(t, `^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`, hash)
	again, err := password.Hash(ctx, "correct horse")
	require.NoError(t, err)
	require.NotEqual(t, hash, again, "it has no salt")
	for plain, want := range map[string]bool{"correct horse": true, "correct horse ": false, "Correct horse": false,
		"": false, strings.Repeat("x", 2000): false} {
		same, err := verify(ctx, hash, plain)
		require.NoError(t, err)
		require.Equal(t, want, same, "%.20q", plain)
	}
}

// A letter with its accent is one character or two, as the keyboard has it.
func TestCharactersInTwoForms(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "sch\u00f6nes wetter", "scho\u0308nes wetter"
	for _, set := range []string{composed, decomposed} {
		hash, err := password.Hash(t.Context(), set)
		require.NoError(t, err)
		for typed, want := range map[string]bool{composed: true, decomposed: true, "schones wetter": false} {
			same, err := verify(t.Context(), hash, typed)
			require.NoError(t, err)
			require.Equal(t, want, same, "%+q for %+q", typed, set)
		}
	}
	// Of before: the two forms were two passwords.
	const before = "$argon2id$v=19$m=1024,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$P6K36EuNG/cbMJ+vKmmnLTbQ6CW+9/FGx94Ih6jlRqs"
	same, err := verify(t.Context(), before, decomposed)
	require.NoError(t, err)
	require.True(t, same)
	long, err := password.Hash(t.Context(), strings.Repeat("\u00f6", 400))
	require.NoError(t, err)
	same, err = verify(t.Context(), long, strings.Repeat("o\u0308", 400))
	require.NoError(t, err)
	require.True(t, same, "it is shorter than it is typed")
	require.ErrorContains(t, password.Validate("o\u0308o\u0308o\u0308o\u0308"), "at least 8", "four characters")
}

func TestNobodyHasAPassword(t *testing.T) {
	t.Parallel()
	for _, plain := range []string{"", "correct horse"} {
		same, err := verify(t.Context(), "", plain)
		require.NoError(t, err)
		require.False(t, same)
	}
}

// From the test vectors of the reference implementation (test.c): "password", "somesalt", two passes over 64 MiB.
func TestForeignHash(t *testing.T) {
	t.Parallel()
	const foreign = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	same, err := verify(t.Context(), foreign, "password")
	require.NoError(t, err)
	require.True(t, same)
}

func TestHashThatIsNone(t *testing.T) {
	t.Parallel()
	const tail = "$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for _, hash := range []string{
		"x", "correct horse", "$2b$12$abcdefghijklmnopqrstuv", "$argon2i$v=19$m=19456,t=2,p=1" + tail,
		"$argon2id$v=16$m=19456,t=2,p=1" + tail,
		"$argon2id$v=19$m=4194304,t=2,p=1" + tail, "$argon2id$v=19$m=19456,t=900,p=1" + tail,
		"$argon2id$v=19$m=19456,t=2,p=0" + tail,
		"$argon2id$v=19$m=19456,t=2" + tail, "$argon2id$v=19$m=19456,t=2,p=1$!!$!!",
		"$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$",
	} {
		same, err := verify(t.Context(), hash, "password")
		require.ErrorContains(t, err, "argon2id", hash)
		require.False(t, same)
	}
}

func TestGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Its turn may come at once all the same; what it may not is end as a success of the wrong password.
	same, _ := verify(ctx, "", "x")
	require.False(t, same)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"12345678", "öäüßöäüß", strings.Repeat("x", 1024)} {
		require.NoError(t, password.Validate(good))
	}
	for bad, why := range map[string]string{"": "at least 8", "1234567": "at least 8", "ööööööö": "at least 8",
		strings.Repeat("x", 1025): "at most 1024", "12345678\xff": "UTF-8"} {
		require.ErrorContains(t, password.Validate(bad), why)
	}
}
