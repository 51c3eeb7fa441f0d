package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// systemd takes the unit as it is, and says that next to nothing of the machine is open to it: 10 is a service without
// any bounds, below 2 calls it safe.
func TestServiceOfSystemd(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	unit := string(read(t, "hiregate.service"))
	require.Contains(t, unit, "=hiregate ")
	path := filepath.Join(t.TempDir(), "hiregate.service")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(unit, "=hiregate ", "="+self+" ")), 0o600))

	out, err := exec.Command(program(t, "systemd-analyze"), "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out), "systemd says something about the unit")

	out, err = exec.Command(program(t, "systemd-analyze"), "security", "--offline=yes", "--threshold=20", "--no-pager",
		path).CombinedOutput()
	require.NoError(t, err, string(out))
}
