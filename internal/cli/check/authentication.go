package check

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// maxAuthentication is in bytes: certificates are the most of it.
const maxAuthentication = 512 << 10

// anywhere implements webhook.Guard for addresses that the person at the command chose.
type anywhere struct{}

func (anywhere) Client() *http.Client { return send.NewClient(atOnce) }

func (anywhere) ClientWith(config *tls.Config) *http.Client {
	client := send.NewClient(atOnce)
	client.Transport.(*http.Transport).TLSClientConfig = config
	return client
}

func (anywhere) Kept(_ string, _ [sha256.Size]byte, build func() *http.Client) *http.Client {
	return build()
}

// authenticate has requests carry the credentials in a file of JSON. The error has nothing of it.
func (r *receiver) authenticate(in io.Reader, file string) error {
	raw, err := terminal.ReadInput(in, file, maxAuthentication)
	if err != nil {
		return terminal.Unable(err)
	}
	a, decoder := new(model.Authentication), json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if decoder.Decode(a) != nil {
		return terminal.Unable(errors.New("--authentication-file: write JSON, such as " +
			`{"basic":{"user":"…","password":"…"}} or {"tls":{"ca":"-----BEGIN CERTIFICATE-----…"}}`))
	}
	if err := errors.Join(a.Validate(), r.names.ValidateAuthentication(a)); err != nil {
		return terminal.Unable(fmt.Errorf("--authentication-file: %w", err))
	}
	r.client = webhook.ClientOnce(anywhere{}, &model.Integration{URL: r.url, Authentication: a})
	return nil
}
