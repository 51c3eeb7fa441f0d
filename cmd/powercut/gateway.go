package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	database             database
	address, admin       string
	token, relayed       string    // of the Apply API: of the tenant that takes applications, of the one that relays them
	running              *exec.Cmd // nil: it is not
}

// configure writes the configuration.
func (g *gateway) configure(o *outside) (err error) {
	if g.address, err = freeAddress(); err != nil {
		return err
	}
	if g.admin, err = freeAddress(); err != nil {
		return err
	}
	config := fmt.Sprintf(`{
	admin %[5]s
	auto_https off
	persist_config off
	hiregate {
		dev
		public_url http://%[1]s
		database %[7]s
		documents file:%[2]s/documents
		temporal %[6]s
		egress allow 127.0.0.0/8
		tenant acme {
			secret "%[3]s"
			apply_upstream http://%[4]s/apply {
				user     powercut
				password "%[3]s"
				rate     1000/s burst 1000
			}
			integration hris {
				url http://%[4]s/acme
				secret "%[3]s"
				verify off
				retry 200ms 500ms 1s
			}
		}
	}
}
http://%[1]s {
	handle /hooks/* {
		export_receiver {
			tenant_from path 1
		}
	}
	handle_path /documents/* {
		documents
	}
	handle_path /apply/* {
		apply_api {
			rate 1000/s burst 1000
		}
	}
	handle /healthz* {
		healthz
	}
}
`, g.address, g.root, secret, o.address, g.admin, o.temporal, g.database.address())
	return os.WriteFile(filepath.Join(g.folder, "Caddyfile"), []byte(config), 0o600)
}

// setUp makes a tenant that takes applications, and gets a token for them.
func (g *gateway) setUp(o *outside) error {
	const password = "correct horse"
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPut, "/tenants/initech", `{"name":"Initech","secrets":[]}`},
		{http.MethodPut, "/tenants/initech/steps", `{"items":[{"id":"new","name":"New"}]}`},
		{http.MethodPut, "/tenants/initech/steps/new/helper", `{"integrations":[]}`},
		{http.MethodPut, "/tenants/initech/jobs/NURSE-1", `{"id":"job-1","title":"Nurse","customFields":[],"questions":` + questions + `}`},
		{http.MethodPost, "/tenants/initech/api-users", `{"userName":"powercut@example.com","password":"` + password + `"}`},
		{http.MethodPost, "/tenants/acme/api-users", `{"userName":"relayed@example.com","password":"` + password + `"}`},
		{http.MethodPost, "/tenants/initech/integrations", fmt.Sprintf(`{"name":"hris","url":"http://%s/initech","secret":%q}`,
			o.address, secret)},
	} {
		status, answer, err := g.manage(one.method, one.path, one.body)
		if err != nil || status/100 != 2 {
			return fmt.Errorf("%s %s: %d %s %v", one.method, one.path, status, answer, err)
		}
	}
	for user, token := range map[string]*string{"powercut": &g.token, "relayed": &g.relayed} {
		status, answer, err := g.ask(http.MethodPost, g.address+"/apply/v2/authentication",
			[]byte(`{"userName":"`+user+`@example.com","password":"`+password+`"}`), "Content-Type", "application/json")
		var got struct{ Token string }
		if json.Unmarshal(answer, &got); got.Token == "" {
			return fmt.Errorf("no token: %d %s %v", status, answer, err)
		}
		*token = got.Token
	}
	return nil
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
	g.running = c
	go func() {
		c.Wait()
		close(ended)
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if status, _, _ := g.ask(http.MethodGet, g.address+"/healthz", nil); status == http.StatusOK {
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

// ask makes a request. An error means that no answer came.
func (g *gateway) ask(method, address string, body []byte, header ...string) (status int, answer []byte, err error) {
	r, err := http.NewRequest(method, "http://"+address, bytes.NewReader(body))
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

// manage asks the management API.
func (g *gateway) manage(method, path, body string) (status int, answer []byte, err error) {
	return g.ask(method, g.admin+"/hiregate/v1"+path, []byte(body), "Content-Type", "application/json")
}

// send sends the export of a UUID.
func (g *gateway) send(uuid string, body []byte) (status int, answer []byte, err error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return g.ask(http.MethodPost, g.address+"/hooks/acme", body, "X-Service-Signature", hex.EncodeToString(mac.Sum(nil)),
		"X-Service-Event", "CANDIDATE-EXPORT", "X-Service-UUID", uuid)
}

// apply submits the application of a name to the tenant that takes it, submit to the one that relays it. The key has a
// repeat be the same application.
func (g *gateway) apply(name string) (status int, answer []byte, err error) {
	return g.applyAs(g.token, name)
}

func (g *gateway) submit(name string) (status int, answer []byte, err error) {
	return g.applyAs(g.relayed, name)
}

func (g *gateway) applyAs(token, name string) (status int, answer []byte, err error) {
	return g.ask(http.MethodPost, g.address+"/apply/v2/application", applicationBody(name), "Content-Type", "application/json",
		"Authorization", "Bearer "+token, "Idempotency-Key", name)
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
