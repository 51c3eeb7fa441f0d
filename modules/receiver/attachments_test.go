package receiver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/modules/receiver"
	"github.com/hiregate/hiregate/schemas"
)

const attachment = `{"id":{"value":"d-1","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":"https://a.example/b"}`

// attached is an export with a profile for each of these, which has as many attachments.
func attached(one string, each ...int) []byte {
	var profiles []string
	for _, n := range each {
		profiles = append(profiles, `{"attachments":[`+strings.TrimSuffix(strings.Repeat(one+",", n), ",")+`]}`)
	}
	return []byte(strings.Replace(string(minimal), `"profiles":[]`, `"profiles":[`+strings.Join(profiles, ",")+`]`, 1))
}

var tooManyAttachments = []schemas.Finding{{Pointer: "/candidate/profiles", Rule: "at most 500 attachments",
	Found: "1500 attachments"}}

// The one finding stands for all others: with so many attachments nobody asks the schema.
func TestTooManyAttachmentsAreRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	require.Equal(t, 500, receiver.DefaultMaxAttachments)
	for _, one := range []string{attachment, `{}`, `null`, `7`} {
		got := b.send(request{body: attached(one, 900, 600)})
		require.Equal(t, http.StatusUnprocessableEntity, got.Code, one)
		require.Equal(t, tooManyAttachments, decode[refusal](t, got.Body.Bytes()).Findings)
	}
	b.MaxAttachments = 4
	for n, status := range map[int]int{4: http.StatusAccepted, 5: http.StatusUnprocessableEntity} {
		require.Equal(t, status, b.send(request{body: attached(attachment, 2, n-2), uuid: fmt.Sprint(n)}).Code)
	}
	require.Len(t, b.Exports(t), 1)
}

// In quarantine are the finding and the export, whose first documents alone are looked for.
func TestTooManyAttachmentsGoIntoQuarantine(t *testing.T) {
	t.Parallel()
	acme := gatewaytest.Tenant("acme")
	acme.Quarantine = true
	b := newFixture(t, acme)
	require.Equal(t, http.StatusAccepted, b.send(request{body: attached(attachment, 900, 600)}).Code)
	e := b.Exports(t)[0]
	require.True(t, e.Quarantined)
	require.Equal(t, 500, e.Attachments)
	var findings []schemas.Finding
	require.NoError(t, json.Unmarshal(e.Findings, &findings))
	require.Equal(t, tooManyAttachments, findings)
}
