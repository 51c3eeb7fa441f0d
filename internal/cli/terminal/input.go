package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
)

// SecretVariable is the environment variable that may hold the signing secret instead of --secret. That keeps it out of the
// shell's history and of `ps`.
const SecretVariable = "HIREGATE_SECRET"

// SigningSecret returns the value of --secret, or of the environment variable if the flag is empty.
func SigningSecret(flag string) (string, error) {
	if secret := cmp.Or(flag, os.Getenv(SecretVariable)); secret != "" {
		return secret, nil
	}
	return "", fmt.Errorf("there is no secret: give one with --secret, or in the environment variable %s", SecretVariable)
}

// maxSecret is in bytes.
const maxSecret = 4 << 10

// ReadSecret reads a secret from a file, or from in if the file is "-". A line end after the secret is not part of it.
func ReadSecret(in io.Reader, file string) (string, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", fmt.Errorf("reading a secret from %s: %w", Printable(file), Cause(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxSecret+1))
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
		return "", fmt.Errorf("the file of a secret, %s, %s: put the secret into it, alone", Printable(file), wrong)
	}
	return secret, nil
}

// ReadInput reads a file of up to most bytes, or in if the file is "-".
func ReadInput(in io.Reader, file string, most int64) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", Printable(file), Cause(err))
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", Printable(file), Cause(err))
	}
	if int64(len(raw)) > most {
		return nil, fmt.Errorf("%s is larger than %d KiB: make it smaller", Printable(file), most>>10)
	}
	return raw, nil
}
