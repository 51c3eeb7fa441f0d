package receiver

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/hiring"
)

func TestALineIsWhatAnEncoderWrites(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	for _, at := range []time.Time{now, now.Truncate(time.Microsecond), now.Truncate(time.Second)} {
		r := receipt{hiring.NewReceipt(hiring.NewID(at)), hexOf([32]byte{1, 2, 255}), at}
		var want strings.Builder
		require.NoError(t, json.NewEncoder(&want).Encode(r))
		require.Equal(t, want.String(), string(r.line()))
	}
}
