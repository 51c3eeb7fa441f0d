package manageapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// What was stored of an integration's credentials, before answers were stored without them, is shown to nobody, and its
// signatures and its text to those alone who may see what it repeats.
func TestOlderAnswersShowNoCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hris(func(i *model.Integration) {
		i.Authentication = &model.Authentication{Headers: []model.AuthHeader{{Name: "X-Api-Key", Value: "key-of-hris"}}}
	})
	signature := strings.Repeat("0123456789abcdef", 4)
	echo := fmt.Sprintf("Cannot POST /%s?client=%[1]s\nX-Api-Key: key-of-hris\nX-Service-Signature: %s\nsigned with %s", urlPath,
		signature, secretKey)
	d := b.delivery(b.export("acme", "u-1"), "hris", model.Retrying)
	d.Attempts = 1
	b.Write(t, func(tx *store.Tx) error {
		if err := tx.InsertAttempt(&model.Attempt{DeliveryID: d.ID, Status: 500, Answer: []byte(echo), StartedAt: gatewaytest.Noon,
			Header: []byte("X-Echo: key-of-hris " + signature + "\n"), Error: "answered 500"}); err != nil {
			return err
		}
		return tx.UpsertDelivery(d)
	})
	for role, shown := range map[model.Role]string{model.Viewer: "(secret)", model.Operator: signature, model.Admin: signature} {
		k := b.keyed().as(b.key("k-"+string(role), "acme", role))
		attempt := get[api.ExportDetail](k, acme+"/exports/u-1").Deliveries[0].History[0]
		require.Equal(t, "X-Echo: (secret) "+shown+"\n", attempt.Header, role)
		sample := get[api.Causes](k, acme+"/integrations/hris/causes").Items[0].Sample.Answer
		want := "Cannot POST (secret)\nX-Api-Key: (secret)\nX-Service-Signature: " + shown + "\nsigned with (secret)"
		if role == model.Viewer { // the text may repeat data of a candidate
			want = ""
		}
		require.Equal(t, []string{want, want}, []string{attempt.Answer, sample}, role)
	}
}

// The answer to a VERIFY that is refused, and that to a test export, show nothing of what was sent as a credential.
func TestTranscriptsShowNoCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.initech()
	address := b.partner(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s has the key %s", r.URL, r.Header.Get("X-Api-Key"))
	})
	const authentication = `{"headers": [{"name": "X-Api-Key", "value": "key-of-hris"}]}`
	refused := b.must(http.StatusUnprocessableEntity, http.MethodPost, integrations, fmt.Sprintf(
		`{"name": "hris", "url": "%s/inbound/0a1b2c3d", "secret": "another-secret-of-it", "authentication": %s}`, address, authentication))
	require.Equal(t, "(secret) has the key (secret)", parsed[failedVerify](b, refused).Transcript.Answer)
	b.hris(func(i *model.Integration) {
		i.URL = address + "/inbound/0a1b2c3d"
		i.Authentication = &model.Authentication{Headers: []model.AuthHeader{{Name: "X-Api-Key", Value: "key-of-hris"}}}
	})
	trial := parsed[tried](b, b.must(http.StatusOK, http.MethodPost, acme+"/integrations/hris/test", ""))
	require.Equal(t, "(secret) has the key (secret)", trial.Answer)
}
