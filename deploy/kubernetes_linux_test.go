package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// deployment is the part of the Deployment in gateway.yaml that says how a gateway is run. The strict reading is in the module
// deploy/kubernetes.
type deployment struct {
	Spec struct {
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []container
			}
		}
	}
}

type container struct {
	Args           []string
	Env            []struct{ Name, Value string }
	ReadinessProbe probe `yaml:"readinessProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	Lifecycle      struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
}

type probe struct {
	HTTPGet struct{ Path string } `yaml:"httpGet"`
}

// TestKubernetes runs gateways as the Deployment does (arguments, environment, probes, a ConfigMap that changes, the signal) behind
// the Caddyfile of a load balancer, and replaces one without losing a request.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	var d deployment
	require.NoError(t, yaml.Unmarshal(read(t, "kubernetes/gateway.yaml"), &d))
	ports := network{freePort(t), freePort(t)}
	pods := []*pod{startPod(t, d, "127.0.0.1", ports), startPod(t, d, "127.0.0.2", ports)}
	for _, p := range pods {
		p.answers(p.ReadinessProbe, http.StatusOK)
		p.answers(p.LivenessProbe, http.StatusOK)
	}
	front := startLoadBalancer(t, pods, ports)
	lost, sent := traffic(t, front)

	pods[0].caddyfile = strings.Replace(pods[0].caddyfile, "respond 404", `respond "changed" 404`, 1)
	pods[0].mount()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, body := get(pods[0].address, ports.own, "/nothing")
		assert.Equal(c, "changed", body)
	}, patience, 200*time.Millisecond, "the changed ConfigMap is not in force")

	time.Sleep(time.Duration(pods[0].Lifecycle.PreStop.Sleep.Seconds) * time.Second) // as the kubelet does
	began := time.Now()
	require.NoError(t, pods[0].cmd.Process.Signal(syscall.SIGTERM))
	pods[0].answers(pods[0].ReadinessProbe, http.StatusServiceUnavailable)
	require.NoError(t, pods[0].cmd.Wait(), pods[0].said.String())
	require.Less(t, time.Since(began), time.Duration(d.Spec.Template.Spec.Grace)*time.Second)
	after := sent.Load()
	require.Eventually(t, func() bool { return sent.Load() > after+20 }, patience, 50*time.Millisecond)
	require.Zero(t, lost.Load(), "requests were lost while a gateway was replaced")
}

// pod is a process that runs as the container of a pod does.
type pod struct {
	container
	network
	t         *testing.T
	cmd       *exec.Cmd
	address   string
	folder    string // of the Caddyfile, as the kubelet writes it: a link to a folder of each version
	caddyfile string
	said      bytes.Buffer
}

// network is the ports that all pods have, each at an address of its own.
type network struct{ http, own int }

// startPod starts a gateway with the Caddyfile beside the manifests. What a cluster would bring is the test's own: an SQLite
// file, a folder for documents, and no Temporal, without which exports wait.
func startPod(t *testing.T, d deployment, address string, ports network) *pod {
	t.Helper()
	p := &pod{container: d.Spec.Template.Spec.Containers[0], network: ports, t: t, address: address, folder: t.TempDir()}
	text := string(read(t, "kubernetes/Caddyfile"))
	before, rest, ok := strings.Cut(text, "\t\tdocuments s3:")
	require.True(t, ok)
	_, rest, ok = strings.Cut(rest, "\n\t\t}\n")
	require.True(t, ok)
	text = before + "\t\tdocuments file://" + filepath.Join(p.folder, "documents") + "\n" + rest
	p.caddyfile = strings.NewReplacer("temporal-frontend.temporal.svc:7233", "127.0.0.1:1", ":8080", ":"+strconv.Itoa(p.http), ":9180",
		":"+strconv.Itoa(p.own), "shared/0.0.0.0", "shared/"+address, "admin localhost:2019", "admin 127.0.0.1:"+strconv.Itoa(freePort(t))).Replace(text)
	p.mount()

	args := strings.ReplaceAll(strings.Join(p.Args, "\n"), "/etc/caddy/", filepath.Join(p.folder, "etc")+"/")
	p.cmd = exec.Command(binary(t), strings.Split(args, "\n")...)
	p.cmd.Env = append(os.Environ(), "HIREGATE_DATABASE=sqlite://"+filepath.Join(p.folder, "hiregate.db"),
		"HIREGATE_SEAL_KEY="+strings.Repeat("A", 43)+"=", "HIREGATE_SIGNIN_KEY="+strings.Repeat("B", 42)+"A=", "XDG_DATA_HOME="+p.folder,
		"XDG_CONFIG_HOME="+p.folder)
	for _, variable := range p.Env {
		p.cmd.Env = append(p.cmd.Env, variable.Name+"="+strings.Replace(variable.Value, "0.0.0.0", address, 1))
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait() })
	return p
}

// mount writes the Caddyfile as the kubelet does: into a new folder, which a link leads to from then on.
func (p *pod) mount() {
	p.t.Helper()
	etc := filepath.Join(p.folder, "etc")
	require.NoError(p.t, os.MkdirAll(etc, 0o755))
	version, err := os.MkdirTemp(etc, "..version-")
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(version, "Caddyfile"), []byte(p.caddyfile), 0o600))
	require.NoError(p.t, os.Symlink(filepath.Base(version), filepath.Join(etc, "..next")))
	require.NoError(p.t, os.Rename(filepath.Join(etc, "..next"), filepath.Join(etc, "..data")))
	if err := os.Symlink(filepath.Join("..data", "Caddyfile"), filepath.Join(etc, "Caddyfile")); err != nil {
		require.ErrorIs(p.t, err, os.ErrExist)
	}
}

// answers waits until a probe gets that status.
func (p *pod) answers(asked probe, status int) {
	p.t.Helper()
	require.EventuallyWithT(p.t, func(c *assert.CollectT) {
		got, _ := get(p.address, p.own, asked.HTTPGet.Path)
		assert.Equal(c, status, got)
	}, patience, 50*time.Millisecond, "%s", asked.HTTPGet.Path)
}

// startLoadBalancer runs the Caddyfile of a load balancer in front of the pods, and returns its port.
func startLoadBalancer(t *testing.T, pods []*pod, ports network) int {
	t.Helper()
	port := freePort(t)
	front := fmt.Sprintf("{\n\tadmin off\n}\n%s", read(t, "load-balancer.Caddyfile"))
	front = strings.NewReplacer("gate.example.com", "http://127.0.0.1:"+strconv.Itoa(port),
		"10.20.0.11:8080 10.20.0.12:8080 10.20.0.13:8080", fmt.Sprintf("%s:%d %s:%[2]d", pods[0].address, ports.http, pods[1].address),
		"health_port 9180", "health_port "+strconv.Itoa(ports.own)).Replace(front)
	path := filepath.Join(t.TempDir(), "Caddyfile")
	require.NoError(t, os.WriteFile(path, []byte(front), 0o600))
	cmd := exec.Command(binary(t), "run", "--config", path, "--adapter", "caddyfile")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	require.Eventually(t, func() bool {
		status, _ := get("127.0.0.1", port, "/signin/.well-known/openid-configuration")
		return status == http.StatusOK
	}, patience, 100*time.Millisecond, "the load balancer does not answer")
	return port
}

// traffic sends a POST and a GET in turn until the test ends, each on a connection of its own, some hundred a second.
func traffic(t *testing.T, port int) (lost, sent *atomic.Int64) {
	lost, sent = new(atomic.Int64), new(atomic.Int64)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			for url, want := range map[string]int{"/signin/.well-known/openid-configuration": 200, "/signin/token": 400} {
				var body io.Reader
				method := http.MethodGet
				if want != 200 {
					method, body = http.MethodPost, strings.NewReader("grant_type=nothing")
				}
				request, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://127.0.0.1:%d%s", port, url), body)
				if err != nil {
					lost.Add(1)
					return
				}
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				answer, err := client.Do(request)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					lost.Add(1)
					t.Logf("%s %s: %v", method, url, err)
					continue
				case answer.StatusCode/100 == 5:
					lost.Add(1)
					t.Logf("%s %s: %s", method, url, answer.Status)
				}
				answer.Body.Close()
				sent.Add(1)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return lost, sent
}

// get returns status and body of a page, and 0 where nothing answers.
func get(address string, port int, path string) (int, string) {
	answer, err := http.Get(fmt.Sprintf("http://%s:%d%s", address, port, path))
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, ""
	}
	return answer.StatusCode, string(body)
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
