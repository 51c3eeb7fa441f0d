package dev

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/clitest"
)

// Whoever leaves the sample partner out is told how to receive in its place, whether or not somebody does already.
func TestTableWithoutThePartner(t *testing.T) {
	t.Parallel()
	var out clitest.Buffer
	require.NoError(t, (&flags{http: 8080, partner: 8091, noPartner: true}).announce(&out, time.Second))
	require.Contains(t, out.String(), "\n  deliveries go to  http://127.0.0.1:8091; to receive them:\n    "+os.Args[0]+
		" listen --secret hris-signing-secret --addr 127.0.0.1:8091\n")
	require.NotContains(t, out.String(), "sample partner")
}

// The table is for a newcomer's terminal: 80 columns, and few lines.
func TestTable(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	require.NoError(t, os.MkdirAll("testdata/samples", 0o700))
	for _, name := range []string{"export-full.json", "resume.pdf"} {
		require.NoError(t, os.WriteFile(filepath.Join("testdata/samples", name), nil, 0o600))
	}
	program := os.Args[0]
	os.Args[0] = "bin/hiregate"
	defer func() { os.Args[0] = program }()
	var out clitest.Buffer
	f := &flags{http: 8080, partner: 8090, ui: 8233, admin: 2019, dir: filepath.Join(folder, ".hiregate")}
	require.NoError(t, f.announce(&out, 1660*time.Millisecond))
	require.Equal(t, `
Everything answers after 1.66s. Everybody's password is: correct horse

  console           http://localhost:8080/console
    ops@example.com         administrator
    recruiter@example.com   recruiter of initech
    viewer@example.com      viewer of acme
  sample partner    http://localhost:8090
    ada@example.com         signs in there
  Temporal's UI     http://localhost:8233

Send an export, as the service does, from another terminal:

  bin/hiregate send http://localhost:8080/hooks/acme \
    --secret acme-signing-secret --payload testdata/samples/export-full.json \
    --document testdata/samples/resume.pdf

The gateway's log is .hiregate/gateway.log; its warnings are here, too.
`+"Ctrl-C stops everything. `hiregate dev --help` has all addresses and secrets.\n\n", out.String())
	for line := range strings.Lines(out.String()) {
		require.LessOrEqual(t, len(line), lineWidth+1, line)
	}
	out = clitest.Buffer{}
	f.admin, f.verbose = 12019, true
	require.NoError(t, f.announce(&out, time.Second))
	require.Contains(t, out.String(), "\nFor commands such as hiregate status: export HIREGATE_ADMIN=localhost:12019\n")
	require.Contains(t, out.String(), "gateway.log; it is here, too.\n")
}

func TestExampleTakesTheSamplesThatAreThere(t *testing.T) {
	f := &flags{http: 8080}
	t.Chdir(t.TempDir())
	require.Equal(t, os.Args[0]+" send http://localhost:8080/hooks/acme --secret acme-signing-secret",
		strings.ReplaceAll(f.example(), " \\\n   ", ""))
	require.NoError(t, os.MkdirAll("testdata/samples", 0o700))
	require.NoError(t, os.WriteFile("testdata/samples/export-full.json", nil, 0o600))
	require.True(t, strings.HasSuffix(f.example(), "--payload testdata/samples/export-full.json"))
}
