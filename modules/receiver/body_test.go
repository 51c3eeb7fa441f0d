package receiver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/schemas"
)

func TestHostileJSONIsRefused(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	for body, detail := range map[string]string{
		``:        "at byte 0: The body is empty; send a JSON document.",
		`garbage`: "at byte 0: The body is not valid JSON (RFC 8259, and no lone surrogates).",
		`{"candidate":`: "at byte 13: The body ends in the middle of the JSON " +
			"document; send all of it.",
		`{"n":1e10000000}`: "at byte 5: A number has an exponent beyond 308; send " +
			"such numbers as strings.",
		`{"a":1,"a":2}`:      "at byte 7: An object has the same name twice; send each name once.",
		`{"a":1,"\u0061":2}`: "at byte 7: An object has the same name twice; send each name once.",
		"{\"a\":\"\xff\"}":   "at byte 6: The body is not valid UTF-8; encode it as UTF-8.",
		`{"a":"\ud800"}`:     "at byte 6: The body is not valid JSON (RFC 8259, and no lone surrogates).",
		"\ufeff{}":           "at byte 0: The body begins with a byte order mark; send UTF-8 without one.",
		string(minimal) + "x": fmt.Sprintf("at byte %d: Something follows the JSON document; send one "+
			"document and nothing else.", len(strings.TrimSpace(string(minimal)))),
		`{} {}`: "at byte 2: Something follows the JSON document; send one " +
			"document and nothing else.",
		strings.Repeat("[", 1000): "at byte 32: The body is nested more than 32 levels deep; " +
			"send a flatter document.",
		`{"n":` + strings.Repeat("9", 65) + `}`: "at byte 5: A number is longer than 64 characters; send " +
			"long numbers as strings.",
		`{'a':1}`:          "at byte 1: The body is not valid JSON (RFC 8259, and no lone surrogates).",
		`{"a":NaN}`:        "at byte 5: The body is not valid JSON (RFC 8259, and no lone surrogates).",
		"{\"a\":\"\x00\"}": "at byte 6: The body is not valid JSON (RFC 8259, and no lone surrogates).",
		`{"a":1} // no`: "at byte 7: Something follows the JSON document; send one " +
			"document and nothing else.",
		"<candidate/>":      "at byte 0: The body is not valid JSON (RFC 8259, and no lone surrogates).",
		"candidate=%7B%7D&": "at byte 0: The body is not valid JSON (RFC 8259, and no lone surrogates).",
	} {
		requireProblem(t, b.send(request{body: []byte(body)}), http.StatusBadRequest, detail)
	}
	require.Empty(t, b.Exports(t))
}

func TestBrokenSchemaIsToldWithFindings(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	body := strings.NewReplacer(
		`"applyDate": "2026-10-02"`, `"applyDate": "2026-02-30"`,
		`"name": "startDate", "type": "date", "value": "2026-12-07"`,
		`"name": "startDate", "type": "date", "value": 20261207`,
		`"postalCode": "97205"`, `"postalCode": 97205`,
	).Replace(string(full))
	got := b.send(request{body: []byte(body)})
	require.Equal(t, http.StatusUnprocessableEntity, got.Code)
	require.Equal(t, http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"},
		"X-Content-Type-Options": {"nosniff"}}, got.Header())
	require.Equal(t, refusal{"Unprocessable Entity", 422, badExport, []schemas.Finding{
		{Pointer: "/candidate/person/applyDate", Rule: "date: YYYY-MM-DD",
			Found: "string of 10 characters that is not a date"},
		{Pointer: "/candidate/person/communication/address/0/postalCode", Rule: "type: string", Found: "number"},
		{Pointer: "/candidate/profiles/0/associatedPositionOpenings/0/customFields/0/value", Rule: "type: string",
			Found: "number"},
	}}, decode[refusal](t, got.Body.Bytes()))
	require.Empty(t, b.Exports(t))
}

// Neither a refusal nor the log holds anything of a candidate: a marker stands in every string, name and header.
func TestRefusalsHoldNothingOfTheCandidate(t *testing.T) {
	t.Parallel()
	const marker = "Marker-Zq7"
	b := newFixture(t)
	var plant func(any) any
	plant = func(node any) any {
		switch n := node.(type) {
		case map[string]any:
			object := map[string]any{marker: marker}
			for name, v := range n {
				object[name] = plant(v)
			}
			return object
		case []any:
			for i, v := range n {
				n[i] = plant(v)
			}
			return append(n, marker)
		}
		return marker
	}
	var candidate any
	require.NoError(t, json.Unmarshal(full, &candidate))
	broken, err := json.Marshal(plant(candidate))
	require.NoError(t, err)
	more := http.Header{"Link": {marker}, "X-Service-Export-Context": {marker}}
	marked := strings.Replace(string(minimal), `{`, `{"x":"`+marker+`",`, 1)
	for _, c := range []struct {
		request
		status int
	}{
		{request{body: broken, more: more}, http.StatusUnprocessableEntity},
		{request{body: broken, event: "VERIFY"}, http.StatusUnprocessableEntity},
		{request{body: append(broken, marker...), more: more}, http.StatusBadRequest},
		{request{body: []byte(`{"` + marker + `":1,"` + marker + `":2}`), more: more}, http.StatusBadRequest},
		{request{body: []byte(`{"` + marker + `":` + marker + `}`), more: more}, http.StatusBadRequest},
		{request{body: broken, unsigned: true, more: more}, http.StatusUnauthorized},
		{request{body: broken, event: marker}, http.StatusBadRequest},
		{request{body: broken, path: "/hooks/" + marker}, http.StatusNotFound},
		{request{body: []byte(marked), uuid: "u-1", more: more}, http.StatusAccepted},
		{request{body: []byte(marked), uuid: "u-1", more: more}, http.StatusOK},
		{request{body: []byte(marked + " "), uuid: "u-1", more: more}, http.StatusConflict},
		{request{body: []byte(marked), uuid: marker + " ", more: more}, http.StatusBadRequest},
		{request{body: []byte(marked), more: http.Header{"Link": {marker, marker}}}, http.StatusBadRequest},
	} {
		got := b.send(c.request)
		require.Equal(t, c.status, got.Code, "%s", got.Body)
		require.NotContains(t, got.Body.String(), marker)
		require.NotContains(t, fmt.Sprint(got.Header()), marker)
	}
	require.NoError(t, b.Runtime.Store().Close())
	require.Equal(t, http.StatusServiceUnavailable, b.send(request{body: []byte(marked), uuid: "u-2", more: more}).Code)
	require.NotEmpty(t, b.Logged.All())
	for _, entry := range b.Logged.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), marker)
	}
}
