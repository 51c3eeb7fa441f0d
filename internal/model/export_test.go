package model_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestWorkflowID(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                           "",
		"acme":                       "acme",
		"AZaz09._:-":                 "AZaz09._:-",
		"a/b":                        "a%2Fb",
		"a%2Fb":                      "a%252Fb",
		"a b\n":                      "a%20b%0A",
		"é":                          "%C3%A9",
		"\xff~":                      "%FF%7E",
		strings.Repeat("a", 128):     strings.Repeat("a", 128),
		strings.Repeat("/", 42):      strings.Repeat("%2F", 42), // 126 bytes
		strings.Repeat("a", 129):     sha(strings.Repeat("a", 129)),
		strings.Repeat("/", 43):      sha(strings.Repeat("%2F", 43)), // 129 bytes once encoded
		strings.Repeat("\xff", 1000): sha(strings.Repeat("%FF", 1000)),
	} {
		require.Equal(t, "export/acme/"+want, model.WorkflowID("acme", in, 0), "%q", in)
	}
	require.Equal(t, "export/acme/u-1/redelivery/2", model.WorkflowID("acme", "u-1", 2))
}

func TestGroupWorkflowID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 22, 42, 26, 5e8, time.FixedZone("", 3600))
	one, other := &model.Export{Tenant: "acme", ID: 7, ReceivedAt: at}, &model.Export{Tenant: "globex", ID: 8, ReceivedAt: at.Add(time.Hour)}
	require.Equal(t, "exports/acme/2026-11-29T21:42:26Z/7", model.GroupWorkflowID([]*model.Export{one, one}))
	require.Equal(t, "exports/several/2026-11-29T21:42:26Z/7", model.GroupWorkflowID([]*model.Export{one, other}))
	// The store of an earlier version kept the number of the first member alone.
	former := &model.Export{Group: 7, WorkflowID: "exports/7"}
	require.Equal(t, "exports/7", former.RoundWorkflowID(0))
	former.Round, former.WorkflowID = 1, "export/acme/u-1/redelivery/1"
	require.Equal(t, "exports/7", former.RoundWorkflowID(0))
}

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
