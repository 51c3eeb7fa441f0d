package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// maxAuthentication is in bytes: certificates are the most of it.
const maxAuthentication = 512 << 10

// authenticationOf lists which credentials an integration has; empty: none.
func authenticationOf(a *api.AuthenticationSet) string {
	if a == nil {
		return ""
	}
	all := slices.Clone(a.Headers)
	if a.Scheme != "" {
		all = append(all, a.Scheme)
	}
	if !a.CertificateEndsAt.IsZero() {
		all = append(all, "client certificate")
	}
	if a.CA {
		all = append(all, "own authorities")
	}
	return strings.Join(all, ", ")
}

func certificateEnd(a *api.AuthenticationSet) (at time.Time) {
	if a != nil {
		at = a.CertificateEndsAt
	}
	return at
}

// readAuthentication reads credentials from a file of JSON. The error has nothing of it.
func readAuthentication(in io.Reader, file string) (*model.Authentication, error) {
	raw, err := terminal.ReadInput(in, file, maxAuthentication)
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
