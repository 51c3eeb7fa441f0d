package webhook

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// The headers of the Standard Webhooks specification (standardwebhooks.com, version 1.0.0), spelled as they go onto the
// wire.
const (
	StandardID        = "webhook-id"
	StandardTimestamp = "webhook-timestamp"
	StandardSignature = "webhook-signature"
)

// standardPrefix marks a secret whose rest is the key in base64.
const standardPrefix = "whsec_"

// ValidateStandardSecrets is ValidateStandardSecret for the secrets of an integration.
func ValidateStandardSecrets(i *model.Integration) error {
	return cmp.Or(ValidateStandardSecret(i.Secret.Reveal()), ValidateStandardSecret(i.FormerSecret.Reveal()))
}

// ValidateStandardSecret says what is wrong with a secret that Standard Webhooks signatures are to be made with, or
// nil.
func ValidateStandardSecret(secret string) error {
	if _, err := standardKey(secret); err != nil {
		return fmt.Errorf("the secret begins with %s, but what follows is not standard base64: take it over as it was "+
			"given, or use one that begins otherwise", standardPrefix)
	}
	return nil
}

var errNoKey = errors.New("no key in base64")

// standardKey is the key that a secret stands for: its bytes, or what is encoded behind whsec_. Where that can't be
// decoded it is the bytes, too.
func standardKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, standardPrefix)
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return []byte(secret), errNoKey
	}
	return key, nil
}

// SignStandard is the value of webhook-signature: v1, and the HMAC-SHA256 of id.timestamp.body in base64.
func SignStandard(secret, id string, at time.Time, body []byte) string {
	key, _ := standardKey(secret) // ValidateStandardSecret told who wrote it
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s.%d.", id, at.Unix())
	h.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// signStandard sets the headers, with a signature for each secret that is not empty, separated by spaces.
func signStandard(h http.Header, id string, at time.Time, body []byte, secrets ...string) {
	var signatures []string
	for _, secret := range secrets {
		if secret != "" {
			signatures = append(signatures, SignStandard(secret, id, at, body))
		}
	}
	h[StandardID] = []string{id}
	h[StandardTimestamp] = []string{strconv.FormatInt(at.Unix(), 10)}
	h[StandardSignature] = []string{strings.Join(signatures, " ")}
}

// Message is a webhook in the form of Standard Webhooks, without headers of the contract.
type Message struct {
	URL     string
	Secrets []string // each makes a signature
	ID      string   // the same in every attempt
	Body    []byte   // JSON
}

// SendMessage makes one attempt at sending a message, as Send does.
func (n Names) SendMessage(ctx context.Context, client *http.Client, m Message) (Answer, error) {
	return exchange(ctx, client, m.Secrets, func(ctx context.Context, at time.Time) (*http.Request, error) {
		req, err := post(ctx, m.URL, m.Body)
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {n.UserAgent}}
		signStandard(req.Header, m.ID, at, m.Body, m.Secrets...)
		return req, nil
	})
}
