package receiver_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/webhook"
)

// A refusal of what the service signed is counted with its rule and place, and logged once a minute at most. What
// strangers send is not.
func TestRefusalsAreNoted(t *testing.T) {
	t.Parallel()
	acme := gatewaytest.Tenant("acme")
	b := newFixture(t, acme)
	for range 3 {
		b.send(request{body: []byte(`{"candidate":{}}`)})
	}
	b.Clock.Advance(30 * time.Second)
	b.send(request{body: []byte(`{"candidate":`)})
	b.send(request{event: "SOMETHING"})
	b.send(request{uuid: "not\x01visible"})
	b.send(request{uuid: "u-1"})
	require.Equal(t, http.StatusConflict, b.send(request{uuid: "u-1", body: full}).Code)
	// Strangers, and what is no export.
	b.send(request{unsigned: true, body: []byte(`{`)})
	b.send(request{secret: "wrong", body: []byte(`{"candidate":{}}`)})
	b.send(request{event: webhook.EventVerify, body: []byte(`{"data":"x"}`)})
	b.send(request{path: "/hooks/stranger"})
	b.send(request{method: http.MethodGet})

	later := gatewaytest.Noon.Add(30 * time.Second)
	of := func(name string, count int64, at time.Time, rule, pointer string) model.Remark {
		return model.Remark{Tenant: "acme", Kind: model.ExportRefused, Name: name, Count: count, First: at, Last: at,
			Rule: rule, Pointer: pointer}
	}
	require.Equal(t, []model.Remark{
		of("conflict", 1, later, "an export with this UUID was accepted before, with another body: a new export needs a new UUID", ""),
		of("event", 1, later, "the header X-Service-Event must be CANDIDATE-EXPORT or VERIFY", ""),
		of("header", 1, later, "the header X-Service-UUID must be 1 to 255 visible ASCII characters", ""),
		of("invalid", 3, gatewaytest.Noon, "required", "/candidate/person"),
		of("malformed", 1, later, "at byte 13: The body ends in the middle of the JSON document; send all of it.", ""),
	}, b.remarks(t, model.ExportRefused))
	lines := b.Logged.FilterMessageSnippet("refused, although they were signed right")
	require.Equal(t, 1, lines.Len())
	require.Equal(t, map[string]any{"tenant": "acme", "exports": int64(1), "result": "invalid", "rule": "required",
		"pointer": "/candidate/person"}, lines.All()[0].ContextMap())
	b.Clock.Advance(31 * time.Second)
	b.send(request{body: []byte(`{"candidate":{}}`)})
	lines = b.Logged.FilterMessageSnippet("refused, although they were signed right")
	require.Equal(t, 2, lines.Len())
	require.EqualValues(t, 7, lines.All()[1].ContextMap()["exports"], "it tells how many came since the line before")

	b.remarks(t, model.ExportRefused)
	needs := func(now time.Time) []model.Need {
		all, err := b.Runtime.Needs(t.Context(), now)
		require.NoError(t, err)
		return slices.DeleteFunc(all, func(n model.Need) bool { return n.Kind != model.NeedRefused })
	}
	require.Equal(t, []model.Need{{Kind: model.NeedRefused, Tenant: "acme", Since: gatewaytest.Noon, Count: 8,
		Sentence: "acme: exports that its service signed right are refused since 2026-11-20T12:00:00Z: 8, the last one at " +
			"2026-11-20T12:01:01Z (invalid: required at /candidate/person); have them sent again once that is mended",
		Action: "hiregate tenant show acme"}}, needs(b.Clock.Now()))
	require.Empty(t, needs(b.Clock.Now().Add(25*time.Hour)))
}
