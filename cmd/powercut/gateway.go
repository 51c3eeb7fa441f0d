package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const secret = "a secret of a power cut"

// gateway is a gateway with its data on the machine, and its configuration elsewhere.
type gateway struct {
	binary, folder, root string
	address              string
	running              *exec.Cmd // nil: it is not
	ended                chan struct{}
}

// configure writes the configuration.
func (g *gateway) configure() (err error) {
	if g.address, err = freeAddress(); err != nil {
		return err
	}
	config := fmt.Sprintf(`{
	admin off
	auto_https off
	persist_config off
	hiregate {
		dev
		public_url http://%[1]s
		database sqlite:%[2]s/hiregate.db
		documents file:%[2]s/documents
		temporal 127.0.0.1:1
		tenant acme {
			secret "%[3]s"
		}
	}
}
http://%[1]s {
	handle /healthz* {
		healthz
	}
	handle {
		export_receiver {
			tenant_from path 1
		}
	}
}
`, g.address, g.root, secret)
	return os.WriteFile(filepath.Join(g.folder, "Caddyfile"), []byte(config), 0o600)
}

// errNotOpen says that a gateway did not come up on what a cut left.
var errNotOpen = errors.New("the gateway did not open its data")

// start starts the gateway, and waits until it accepts.
func (g *gateway) start(ctx context.Context) error {
	log := new(bytes.Buffer)
	c := exec.Command(g.binary, "run", "--config", filepath.Join(g.folder, "Caddyfile"), "--adapter", "caddyfile")
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+g.folder, "XDG_DATA_HOME="+g.folder, "HIREGATE_LIFELINE=stdin")
	c.Stdout, c.Stderr = log, log
	if _, err := c.StdinPipe(); err != nil { // it closes with this process, and the gateway ends
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	g.running, g.ended = c, ended
	go func() {
		c.Wait()
		close(ended)
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if status, _, _ := g.ask(http.MethodGet, "/healthz", nil); status == http.StatusOK {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("%w: %s", errNotOpen, log)
		default:
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	g.kill()
	<-ended
	return fmt.Errorf("%w within a minute: %s", errNotOpen, log)
}

// kill has the gateway end as its machine does. What it waits for on the disk it still waits for.
func (g *gateway) kill() {
	if g.running != nil {
		g.running.Process.Kill()
		g.running = nil
	}
}

// ask makes a request of the gateway. An error means that no answer came.
func (g *gateway) ask(method, path string, body []byte, header ...string) (status int, answer []byte, err error) {
	r, err := http.NewRequest(method, "http://"+g.address+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// send sends the export of a UUID.
func (g *gateway) send(uuid string) (status int, answer []byte, err error) {
	body := fmt.Appendf(nil, `{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}},"profiles":[]}}`, uuid)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return g.ask(http.MethodPost, "/hooks/acme", body, "X-Service-Signature", hex.EncodeToString(mac.Sum(nil)),
		"X-Service-Event", "CANDIDATE-EXPORT", "X-Service-UUID", uuid)
}

// freeAddress is an address of this host that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
