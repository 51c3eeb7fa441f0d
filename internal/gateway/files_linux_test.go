package gateway

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/store"
)

// exhaust is the variable that has this test run without files, in a process of its own.
const exhaust = "HIREGATE_TEST_WITHOUT_FILES"

// Where no file can be opened any more, the error names the limit, its value and the line of the unit that raises it.
func TestNoMoreFiles(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv(exhaust); folder != "" {
		openWithoutFiles(t, folder)
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self, "-test.run=^TestNoMoreFiles$")
	child.Env = append(os.Environ(), exhaust+"="+t.TempDir())
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	for _, part := range []string{"documents", "lock", "database"} {
		require.Regexp(t, part+`: .*as its limit of open files \(64\) allows: .*LimitNOFILE=1048576.*`, string(out))
	}
	require.NotContains(t, string(out), "give user id")
	require.NotContains(t, string(out), "writable for the user")
}

func openWithoutFiles(t *testing.T, folder string) {
	files, err := documents.OpenFiles(filepath.Join(folder, "documents"))
	require.NoError(t, err)
	require.NoError(t, files.Prepare())
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}))
	var held []*os.File
	for {
		file, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		held = append(held, file)
	}
	fmt.Printf("documents: %v\n", files.Prepare())
	open := func() error {
		_, err := store.Open(t.Context(), "sqlite://"+filepath.Join(folder, "hiregate.db"), store.Options{Log: zap.NewNop()})
		return err
	}
	fmt.Printf("lock: %v\n", open())
	require.NoError(t, held[0].Close()) // for the lock
	fmt.Printf("database: %v\n", open())
}
