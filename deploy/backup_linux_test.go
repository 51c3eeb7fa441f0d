package deploy

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// composed is a gateway as deploy/partner-compose.yml has it, without what is around it.
const composed = `services:
  gateway:
    image: IMAGE
    volumes:
      - ./Caddyfile:/etc/caddy/Caddyfile:ro
      - data:/var/lib/hiregate
    network_mode: none
    stop_grace_period: 1m
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
volumes:
  data:
`

// TestBackupOfTheComposeInstallation runs what docs/install.md says of deploy/partner-compose.yml: what was there at the
// backup is there after the restore, and nothing that came later.
func TestBackupOfTheComposeInstallation(t *testing.T) {
	t.Parallel()
	program(t, "docker-compose")
	run, host := engine(t)
	project := "hiregatetest" + strings.ToLower(rand.Text())
	run("build", "--quiet", "--tag", project, lastStage(t))
	t.Cleanup(func() { run("rmi", "--force", project) })
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "deploy"), 0o755))
	for name, content := range map[string]string{"Caddyfile": inside, "partner-compose.yml": strings.Replace(composed, "IMAGE", project, 1)} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "deploy", name), []byte(content), 0o644))
	}
	_, said, ok := strings.Cut(string(read(t, "../docs/install.md")), "\n`deploy/partner-compose.yml` has database and documents in one volume")
	require.True(t, ok)
	blocks := regexp.MustCompile("(?s)```\n(.*?)```\n").FindAllStringSubmatch(said, 2)
	require.Len(t, blocks, 2)
	backup, restore := blocks[0][1], blocks[1][1]
	require.Contains(t, restore, "docker volume rm deploy_data\n")
	shell := func(script string) string {
		t.Helper()
		cmd := exec.Command("sh", "-euc", `compose="docker-compose --file deploy/partner-compose.yml"
`+strings.ReplaceAll(script, "deploy_data", project+"_data"))
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "COMPOSE_PROJECT_NAME="+project)
		if host != "" {
			cmd.Env = append(cmd.Env, "DOCKER_HOST="+host)
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", script, out)
		return string(out)
	}
	tenants := func() (list string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			list = shell("$compose exec -T gateway hiregate tenant list --json 2>&1 || true")
			assert.Contains(c, list, `"id":"acme"`)
		}, patience, 200*time.Millisecond)
		return list
	}
	add := func(tenant string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			assert.Contains(c, shell("$compose exec -T gateway hiregate tenant set "+tenant+" --no-secret 2>&1 || true"), "is set")
		}, patience, 200*time.Millisecond)
	}
	t.Cleanup(func() { shell("$compose down --volumes") })
	shell("$compose up --detach gateway")
	add("acme")
	shell(backup)
	add("globex")
	require.Contains(t, tenants(), `"id":"globex"`)
	shell(restore)
	require.NotContains(t, tenants(), `"id":"globex"`)
}
