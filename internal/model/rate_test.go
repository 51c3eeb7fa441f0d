package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

// A rate is written in a form in which it can be read, in whatever unit it was written.
func TestRateIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"50/s burst 200": "50/s burst 200", "90/m burst 4": "1.5/s burst 4", "30/m": "30/m burst 30",
		"1/h": "1/h burst 1", "0.5/h burst 2": "0.5/h burst 2", "1000000/s": "1e+06/s burst 1000000",
		"100/m burst 1000": "100/m burst 1000", "61/m": "61/m burst 61", "999/h": "999/h burst 999",
		"1.23456789/s burst 1": "1.23456789/s burst 1", "7/h": "7/h burst 7",
	} {
		r, err := model.ParseRate(strings.Fields(text))
		require.NoError(t, err)
		require.Equal(t, want, r.String())
		again, err := model.ParseRate(strings.Fields(r.String()))
		require.NoError(t, err)
		require.Equal(t, r, again, "a form that is saved as it is changes nothing")
	}
}
