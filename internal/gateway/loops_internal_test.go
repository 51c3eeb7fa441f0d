package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Each loop has a name of its own, and what it comes to is said. One that hangs is named as what needs a person.
func TestTableOfLoops(t *testing.T) {
	t.Parallel()
	r, database := newRuntime(t)
	require.NoError(t, r.Start(t.Context()))
	defer func() {
		require.NoError(t, r.Destruct())
		require.NoError(t, database.Destruct())
	}()
	names := map[string]bool{}
	for _, l := range r.table() {
		require.False(t, names[l.Name], l.Name)
		names[l.Name] = true
		require.Regexp(t, `^[a-z_]+$`, l.Name)
		require.Positive(t, l.Every, l.Name)
		require.NotNil(t, l.Round, l.Name)
	}
	require.Greater(t, len(names), 20)

	require.Empty(t, hanging(r.loops.Late(time.Now())))
	var needs []model.Need
	require.Eventually(t, func() bool { // they begin in the background
		needs = hanging(r.loops.Late(time.Now().Add(5 * time.Hour)))
		return len(needs) == len(names)
	}, time.Minute, time.Millisecond)
	require.Equal(t, model.NeedLoop, needs[0].Kind)
	require.Contains(t, needs[0].Sentence, "the loop sweep of this gateway's background work, which comes round every 1s, hangs since "+
		time.Now().UTC().Format("2006-01-02"))
}
