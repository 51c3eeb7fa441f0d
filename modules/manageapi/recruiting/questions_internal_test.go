package recruiting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// Of a list without end no more is read than tells that it is too long. It runs alone: allocations are counted.
func TestRowsAreReadUpToTheFirstTooMany(t *testing.T) {
	for name, read := range map[string]func() int{
		"JSON": func() int {
			rows, p := jsonRows([]byte("[" + strings.Repeat("{},", 1<<20/3-1) + "{}]"))
			require.NoError(t, p)
			return len(rows)
		},
		"CSV": func() int {
			rows, p := csvRows([]byte("id,format,label\n" + strings.Repeat(",\n", 1<<19-8)))
			require.NoError(t, p)
			return len(rows)
		},
	} {
		require.Equal(t, model.MaxQuestions+1, read(), name)
		require.Less(t, testing.AllocsPerRun(1, func() { read() }), 100.0*model.MaxQuestions, name)
	}
}
