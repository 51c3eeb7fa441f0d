package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a Caddy with our modules in it, or another server, in a process of its own.
type server struct {
	address, folder string
	binary          string
	args, env       []string
	ready           func() error // fails until it answers
	command         *exec.Cmd
}

// start starts the process, also once more after it was killed, and returns when it answers.
func (s *server) start() error {
	c := exec.Command(s.binary, s.args...)
	c.Env = append(os.Environ(), s.env...)
	if _, err := c.StdinPipe(); err != nil { // it closes when we are killed, and the server stops
		return err
	}
	var log strings.Builder
	c.Stdout, c.Stderr = io.Discard, &log
	if err := c.Start(); err != nil {
		return err
	}
	s.command = c
	if err := eventually(time.Minute, s.ready); err != nil {
		s.kill()
		return fmt.Errorf("%s did not come up: %w\n%s", filepath.Base(s.binary), err, log.String())
	}
	return nil
}

// stop ends the process, and removes its folder.
func (s *server) stop() {
	s.command.Process.Signal(syscall.SIGTERM)
	s.command.Wait()
	os.RemoveAll(s.folder)
}

// kill ends the process at once, as a crash would.
func (s *server) kill() {
	s.command.Process.Kill()
	s.command.Wait()
}

// options are the settings of a server.
type options struct {
	name     string
	binary   string // default: the gateway's
	site     string // directives for all requests except those to the management API, /documents and /metrics
	postgres bool   // on a new database in PostgreSQL; default: SQLite in the server's folder
	filled   string // address of an existing database
	temporal string // default: an address where no server listens
	bucket   string // address of an S3 server with a bucket; default: documents are in the server's folder
	tenants  string // further tenants beside acme, as lines of the Caddyfile
}

// tenant returns the lines of a tenant with one integration, hris, at host:port/path. option is a further line of it.
func tenant(name, where, option string) string {
	return fmt.Sprintf("tenant %s {\nsecret %s\nintegration hris {\nurl http://%s\nsecret %s\nverify off\n%s\n}\n}\n", name,
		secret, where, secret, option)
}

// serve starts a server with a folder of its own.
func (b *bench) serve(o options) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return nil, err
	}
	database := o.filled
	if database == "" {
		if database, err = b.database(o.postgres, folder); err != nil {
			return nil, err
		}
	}
	documents := "file:" + folder + "/documents"
	if o.bucket != "" {
		documents = "s3://documents/bench {\nendpoint http://" + o.bucket + "\naccess_key key\nsecret_key secret\n}"
	}
	config := fmt.Sprintf(`{
	admin off
	auto_https off
	persist_config off
	log {
		level ERROR
	}
	hiregate {
		dev
		public_url http://%[1]s
		database %[6]s
		documents %[2]s
		temporal %[3]s
		egress allow 127.0.0.0/8
		tenant acme {
			secret %[4]s
		}
		%[7]s
	}
}
http://%[1]s {
	handle /metrics {
		metrics
	}
	handle_path /manage/* {
		manage_api
	}
	handle_path /documents/* {
		documents
	}
	handle {
		%[5]s
	}
}
`, address, documents, cmp.Or(o.temporal, "127.0.0.1:1"), secret, o.site, database, o.tenants)
	file := filepath.Join(folder, "Caddyfile")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	s := &server{address: address, folder: folder, binary: cmp.Or(o.binary, b.binary),
		args: []string{"run", "--config", file, "--adapter", "caddyfile"},
		env: []string{"XDG_CONFIG_HOME=" + folder, "XDG_DATA_HOME=" + folder,
			"HIREGATE_SIGNIN_KEY=a text of more than thirty-two characters, for a bench", "HIREGATE_LIFELINE=stdin"}}
	s.ready = func() error { _, err := s.metric("go_goroutines"); return err }
	return s, s.start()
}

// freeze stops the process for a while, with all its connections.
func (s *server) freeze(during time.Duration, mark func() error) error {
	if err := s.command.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := mark()
	time.Sleep(during)
	return errors.Join(err, s.command.Process.Signal(syscall.SIGCONT))
}

// measure runs a load, and returns also the processor time that the server spent on it.
func (s *server) measure(load func() (result, error)) (r result, cpu time.Duration, err error) {
	const spent = "process_cpu_seconds_total"
	before, err := s.metric(spent)
	if err != nil {
		return r, 0, err
	}
	if r, err = load(); err != nil {
		return r, 0, err
	}
	after, err := s.metric(spent)
	return r, time.Duration((after - before) * float64(time.Second)), err
}

// metric adds up the samples of a metric in the server's /metrics.
func (s *server) metric(name string) (sum float64, err error) {
	resp, err := http.Get("http://" + s.address + "/metrics")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	found := false
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		labels, isIt := strings.CutPrefix(lines.Text(), name)
		if !isIt || labels[0] != ' ' && labels[0] != '{' {
			continue
		}
		value, err := strconv.ParseFloat(labels[strings.LastIndexByte(labels, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum, found = sum+value, true
	}
	if !found {
		return 0, fmt.Errorf("no metric %s", name)
	}
	return sum, lines.Err()
}

// startTemporal starts a Temporal server.
func (b *bench) startTemporal() (*server, error) {
	if b.temporal == "" {
		return nil, errors.New("say where temporal-dev is: -temporal-dev bin/temporal-dev (make build makes it)")
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(b.dir, "temporal-")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	s := &server{address: address, folder: folder, binary: b.temporal, ready: func() error { return answers(address) },
		args: []string{"--db", filepath.Join(folder, "temporal.db"), "--port", port, "--ui-port", "0", "--log-level", "error",
			"--lifeline"}}
	return s, s.start()
}

// startBucket starts an S3 server with the bucket documents.
func (b *bench) startBucket() (*server, error) {
	if b.s3 == "" {
		return nil, errors.New("say where s3-dev is: -s3-dev bin/s3-dev (make bin/s3-dev makes it)")
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(b.dir, "s3-")
	if err != nil {
		return nil, err
	}
	buckets, side := filepath.Join(folder, "buckets"), filepath.Join(folder, "side")
	if err := errors.Join(os.MkdirAll(filepath.Join(buckets, "documents"), 0o700), os.Mkdir(side, 0o700)); err != nil {
		return nil, err
	}
	s := &server{address: address, folder: folder, binary: b.s3, ready: func() error { return answers(address) },
		args: []string{"-lifeline", "-address", address, "-folder", buckets, "-side", side}}
	return s, s.start()
}

// answers fails unless something listens at an address.
func answers(address string) error {
	conn, err := net.Dial("tcp", address)
	if err == nil {
		conn.Close()
	}
	return err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func eventually(patience time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
