package model_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/model"
)

// The beginning of an answer is its title, its JSON or its first line, whatever follows.
func TestFirstLine(t *testing.T) {
	t.Parallel()
	for answer, line := range map[string]string{
		"":                          "",
		" \n upstream error\nmore":  "upstream error",
		"{\n  \"error\": \"down\"}": `{ "error": "down"}`,
		"<!doctype html><head><TITLE lang=en>502\n Bad Gateway</title>": "502 Bad Gateway",
		"a\x1b[31m\x00b": "a\ufffd[31m\ufffdb",
		"\xff":           "\ufffd",
	} {
		require.Equal(t, line, model.FirstLine([]byte(answer)), answer)
	}
	require.Len(t, []rune(model.FirstLine(make([]byte, 500))), 161)
}

// Integrations have the same cause where the answer is the same but for numbers and ids, and the host does not matter.
func TestIntegrationsWithTheSameCause(t *testing.T) {
	t.Parallel()
	cause := func(kind model.NeedKind, reason, answer string) *model.NeedCause {
		c, err := model.NewNeedCause(kind, reason, []byte(answer), func(words string) ([sha256.Size]byte, error) {
			return digest.Of(words), nil
		})
		require.NoError(t, err)
		return c
	}
	const down = "answered 503; only 2xx means received"
	first := cause(model.NeedFailing, down, "no healthy upstream (request 4711, 0a1b2c3d4e5f)")
	require.Equal(t, []any{503, model.HelpsRetry}, []any{first.Status, first.Helps})
	require.Equal(t, first.ID, cause(model.NeedFailing, down, "no healthy upstream (request 12, ffffffffffff)").ID)
	for _, other := range []*model.NeedCause{cause(model.NeedFailing, down, "maintenance"),
		cause(model.NeedRefusing, down, "no healthy upstream (request 4711, 0a1b2c3d4e5f)"),
		cause(model.NeedFailing, "answered 502; only 2xx means received", "no healthy upstream (request 4711, 0a1b2c3d4e5f)")} {
		require.NotEqual(t, first.ID, other.ID)
	}
	refused := func(host string) *model.NeedCause {
		return cause(model.NeedFailing, "no connection to "+host+" could be made (connection refused): check that it runs and is open to us", "")
	}
	require.Equal(t, refused("hr.acme.example").ID, refused("hr.globex.example:8443").ID)
	for _, one := range []struct {
		kind   model.NeedKind
		reason string
		status int
		helps  model.Helps
	}{
		{model.NeedFailing, "answered 429; only 2xx means received", 429, model.HelpsRetry},
		{model.NeedFailing, "answered 404; only 2xx means received", 404, model.HelpsClient},
		{model.NeedFailing, "hr.example did not answer in time (20s at most): it should acknowledge first and work afterwards", 0,
			model.HelpsRetry},
		{model.NeedFailing, "the certificate of hr.example ended on 2026-11-24: have it renewed", 0, model.HelpsClient},
		{model.NeedRefusing, "refuses what it gets since 12:00 UTC: 15 of 15 answered 422", 422, model.HelpsClient},
		{model.NeedNotConfigured, "VERIFY was answered 500; it must be exactly 200", 500, model.HelpsClient},
		{model.NeedDisabled, "it answered 410", 410, model.HelpsEnable},
		{model.NeedDisabled, "an operator disabled it, because: maintenance", 0, model.HelpsEnable},
		{model.NeedFailing, "something of 2027", 0, model.HelpsClient},
	} {
		c := cause(one.kind, one.reason, "")
		require.Equal(t, []any{one.status, one.helps}, []any{c.Status, c.Helps}, one.reason)
	}
}
