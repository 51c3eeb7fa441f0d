package e2e

import (
	stdflag "flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain runs more tests at once than there are processors, because they mostly wait: for processes that start and stop, and
// for Temporal to notice that a worker died.
func TestMain(m *testing.M) {
	stdflag.Parse()
	given := false
	stdflag.Visit(func(f *stdflag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := stdflag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
