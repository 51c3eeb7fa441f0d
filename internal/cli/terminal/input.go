package terminal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hiregate/hiregate/internal/model"
)

// SecretVariable is the environment variable that may hold the signing secret instead of --secret. That keeps it out of
// the shell's history and of `ps`.
const SecretVariable = "HIREGATE_SECRET"

// SigningFlags are the two flags that give a signing secret.
type SigningFlags struct{ value, file string }

// Add adds them to a command. signs says whose secret it is.
func (f *SigningFlags) Add(fl *pflag.FlagSet, signs string) {
	fl.StringVar(&f.file, "secret-file", "", "file with the "+signs+"; - is standard input")
	fl.StringVar(&f.value, "secret", "", signs+", where others may see it (or the environment variable "+SecretVariable+")")
}

// Read returns the secret of the flags, or of the environment variable without any.
func (f *SigningFlags) Read(in io.Reader) (string, error) {
	if f.file != "" && f.value != "" {
		return "", Usage(errors.New("--secret and --secret-file are both given: leave one out"))
	}
	if f.file != "" {
		return ReadSecret(in, f.file)
	}
	if secret := cmp.Or(f.value, os.Getenv(SecretVariable)); secret != "" {
		return secret, nil
	}
	return "", Usage(fmt.Errorf("there is no secret: give one with --secret-file or --secret, or in the environment variable %s",
		SecretVariable))
}

// SecretNamesFile has a command take --secret for --secret-file: until the next release that was its name here.
func SecretNamesFile(fl *pflag.FlagSet) {
	fl.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "secret" {
			name = "secret-file"
		}
		return pflag.NormalizedName(name)
	})
}

// maxSecret is in bytes.
const maxSecret = 4 << 10

// ReadSecret reads a secret from a file, or from in if the file is "-". A line end after the secret is not part of it.
func ReadSecret(in io.Reader, file string) (string, error) {
	raw, err := readUpTo(in, file, maxSecret+1)
	if err != nil {
		return "", fmt.Errorf("reading a secret from %s: %w", Printable(file), Cause(err))
	}
	secret := strings.TrimRight(string(raw), "\r\n")
	wrong := ""
	switch {
	case secret == "":
		wrong = "is empty"
	case len(secret) > maxSecret:
		wrong = fmt.Sprintf("is longer than %d bytes", maxSecret)
	case strings.ContainsAny(secret, "\r\n"):
		wrong = "has several lines"
	}
	if wrong != "" {
		return "", fmt.Errorf("the file of a secret, %s, %s: put the secret into it, and nothing else", Printable(file), wrong)
	}
	return secret, nil
}

// ReadInput reads a file of up to most bytes, or in if the file is "-".
func ReadInput(in io.Reader, file string, most int64) ([]byte, error) {
	raw, err := readUpTo(in, file, most+1)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", Printable(file), Cause(err))
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("%s is larger than %d KiB: make it smaller", Printable(file), most>>10)
	}
	return raw, nil
}

// maxAuthentication is in bytes: certificates are the most of it.
const maxAuthentication = 512 << 10

// ReadAuthentication reads the credentials for a receiver from a file of JSON, or from in if the file is "-". The error has
// nothing of them.
func ReadAuthentication(in io.Reader, file string) (*model.Authentication, error) {
	raw, err := ReadInput(in, file, maxAuthentication)
	if err != nil {
		return nil, err
	}
	var a *model.Authentication // stays nil for null
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&a) != nil || a == nil || !errors.Is(decoder.Decode(new(any)), io.EOF) {
		return nil, errors.New("--authentication-file: write JSON, such as " +
			`{"headers":[{"name":"X-Api-Key","value":"…"}],"basic":{"user":"…","password":"…"}}`)
	}
	return a, nil
}

func readUpTo(in io.Reader, file string, n int64) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, n))
}

// WriteFile writes a file with all of the text or not at all, readable only by its owner.
func WriteFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // unless it was renamed
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Await returns what a blocking read returns, or the error of ctx when that ends first. The read goes on then, and its
// result is lost.
func Await[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case r := <-done:
		return r.value, r.err
	}
}
