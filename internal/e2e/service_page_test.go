package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of docs/service.md, as they stand there, one after the other. Only ports are other ones.
func TestFromAJobToAHire(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "service.md"))
	require.NoError(t, err)
	ports := newDevPorts(t)
	dev(t, filepath.Join(t.TempDir(), "data"), ports).line(devReady)
	moved := strings.NewReplacer("http://localhost:8080", ports.url(""), "127.0.0.1:8090", loopback(ports.partner))
	folder, programs := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(hiregate(t), filepath.Join(programs, "hiregate")))
	var said strings.Builder
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", moved.Replace(block[1]))
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "HIREGATE_ADMIN="+loopback(ports.admin))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", block[1], out)
		said.Write(out)
	}
	for _, want := range []string{"hospital/hris is set, and configured", "Shift       Night", "hris delivered", "ended as hired",
		"exports  1\n"} {
		require.Contains(t, said.String(), want)
	}
	listed, err := os.ReadFile(filepath.Join(folder, "applications.csv"))
	require.NoError(t, err)
	require.Contains(t, string(listed), "WARD-1")
	read, err := os.ReadFile(filepath.Join(folder, "read.pdf"))
	require.NoError(t, err)
	require.Equal(t, "%PDF-1.4\n%%EOF\n", string(read))
}
