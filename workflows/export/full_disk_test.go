//go:build unix

package export_test

import (
	"testing"

	"github.com/hiregate/hiregate/internal/fulldisktest"
	"github.com/hiregate/hiregate/workflows/exporttest"
)

// The store can be read, and not written.
func TestNothingIsSentTwiceWhileTheDiskIsFull(t *testing.T) {
	fulldisktest.Run(t, func(t *testing.T, room func(bytes uint64)) {
		outage(t, exporttest.NewFixture(t), func() { room(0) }, func() { room(fulldisktest.Whole) })
	})
}
