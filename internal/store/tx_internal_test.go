package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStatementIsGivenAnArgumentForEachParameter(t *testing.T) {
	t.Parallel()
	db := empty(t)
	for _, args := range [][]any{{"x", int64(1)}, {"x"}, {"x", 1, 1}, {}} { // the statement is prepared when the wrong ones come
		err := db.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.exec(`UPDATE exports SET fault = $1 WHERE id = $2 AND round = $2`, args...)
			return err
		})
		if len(args) == 2 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "a statement of 2 parameters was given")
		}
	}
	err := db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.exec(`UPDATE exports SET fault = $1`, struct{}{})
		return err
	})
	require.ErrorContains(t, err, "argument 1 of a statement")
}
