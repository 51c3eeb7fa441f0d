package check

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hiregate/hiregate/internal/cli/send"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

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
	a, err := terminal.ReadAuthentication(in, file)
	if err != nil {
		return terminal.Unable(err)
	}
	if err := errors.Join(a.Validate(), r.names.ValidateAuthentication(a)); err != nil {
		return terminal.Unable(fmt.Errorf("--authentication-file: %w", err))
	}
	r.client = webhook.ClientOnce(anywhere{}, &model.Integration{URL: r.url, Authentication: a})
	return nil
}
