package receiver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/schemas"
)

const (
	unavailable = "the gateway can't write to its database now: send the same request again"
	badVerify   = "the body of VERIFY must be exactly the verification body"
)

// refusal is a problem with findings.
type refusal struct {
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Detail   string            `json:"detail"`
	Findings []schemas.Finding `json:"findings"`
}

func TestVerifyIsAnswered200EveryTime(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted)
	for n, body := range []string{
		`{"data":"Service Verify Event"}`,
		`{"data":"Service Verify Event"}`,
		"{\"data\":\"Service Verify Event\"}\n",
		" \r\n\t{ \"data\"\t:\n\"Service Verify Event\" } ",
		`{"data":"Service\u0020Verify Event"}`,
		`{"data":"Service Verify Event","sentBy":"setup"}`,
	} {
		for _, uuid := range []string{"", "u-1", "u-1", fmt.Sprint("u-", n)} {
			got := b.send(request{event: "VERIFY", body: []byte(body), uuid: uuid})
			require.Equal(t, http.StatusOK, got.Code, body)
			require.Empty(t, got.Body.String())
			require.Empty(t, got.Header())
		}
	}
	require.Len(t, b.Exports(t), 1, "a VERIFY was stored")
}

func TestVerifyWithAnotherText(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for body, finding := range map[string]schemas.Finding{
		`{"data":"Verify Event"}`: {Pointer: "/data", Rule: "const: Service Verify Event",
			Found: "string of 12 characters"},
		`{"data":"service verify event"}`: {Pointer: "/data", Rule: "const: Service Verify Event",
			Found: "string of 20 characters"},
		`{"data":"Service Verify Event\n"}`: {Pointer: "/data", Rule: "const: Service Verify Event",
			Found: "string of 21 characters"},
		`{"data":7}`:             {Pointer: "/data", Rule: "type: string", Found: "number"},
		`{}`:                     {Pointer: "/data", Rule: "required", Found: "absent"},
		`"Service Verify Event"`: {Pointer: "", Rule: "type: object", Found: "string of 20 characters"},
		string(minimal):          {Pointer: "/data", Rule: "required", Found: "absent"},
	} {
		got := b.send(request{event: "VERIFY", body: []byte(body)})
		require.Equal(t, http.StatusUnprocessableEntity, got.Code, body)
		require.Equal(t, refusal{"Unprocessable Entity", 422, badVerify, []schemas.Finding{finding}},
			decode[refusal](t, got.Body.Bytes()))
		require.Equal(t, "application/problem+json", got.Header().Get("Content-Type"))
	}
	require.Equal(t, http.StatusBadRequest, b.send(request{event: "VERIFY",
		body: []byte(`{"data":"Service Verify Event"}}`)}).Code)
	require.Equal(t, http.StatusUnauthorized, b.send(request{event: "VERIFY", body: verify, unsigned: true}).Code)
}

// The text of a verification is no export.
func TestVerificationBodyAsAnExport(t *testing.T) {
	t.Parallel()
	got := newFixture(t).send(request{body: verify})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.True(t, strings.Contains(got.Body.String(), "/candidate"))
}

func TestNothingIsAcceptedWithoutAStore(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	kept := requireReceipt(t, b.send(request{uuid: "u-1"}), http.StatusAccepted)
	require.NoError(t, b.Runtime.Store().Close())
	for _, q := range []request{
		{event: "VERIFY", body: verify},
		{uuid: "u-1"}, // a duplicate of what is there, too: who knows what became of it
		{uuid: "u-2"},
		{},
		{method: http.MethodGet, path: "/hooks/acme/receipts/" + kept.Receipt},
	} {
		requireProblem(t, b.send(q), http.StatusServiceUnavailable, unavailable, "Retry-After", "5")
	}
	// What is wrong with a request is told all the same, as far as it can be told without the store.
	require.Equal(t, http.StatusUnauthorized, b.send(request{unsigned: true}).Code)
	require.Equal(t, http.StatusNotFound, b.send(request{path: "/hooks/nobody"}).Code)
}
