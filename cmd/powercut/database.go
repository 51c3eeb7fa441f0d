package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// database is a database whose files are on the machine.
type database interface {
	// programs are the programs that it needs.
	programs() []string
	create() error // in a filesystem that is empty
	address() string
	start(context.Context) error
	check() error // examines what a cut left, after start
	kill()
}

// sqlite is a SQLite file. The gateway opens it, so nothing has to be started.
type sqlite struct{ folder, root string }

func (sqlite) programs() []string          { return []string{"sqlite3"} }
func (sqlite) create() error               { return nil }
func (s sqlite) address() string           { return "sqlite:" + s.root + "/hiregate.db" }
func (sqlite) start(context.Context) error { return nil }
func (sqlite) kill()                       {}

// check has SQLite look through a copy of the database, since it also repairs it.
func (s sqlite) check() error {
	folder, err := os.MkdirTemp(s.folder, "copy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, name := range []string{"hiregate.db", "hiregate.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(s.root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), raw, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	out, err := command("sqlite3", filepath.Join(folder, "hiregate.db"), "PRAGMA integrity_check")
	if err == nil && out != "ok" {
		err = fmt.Errorf("the database is damaged: %s", out)
	}
	return err
}

// postgres is a PostgreSQL server with its data folder on the machine.
type postgres struct {
	folder, log string // log is a file
	port        string
	running     *exec.Cmd // nil: it is not
}

func (*postgres) programs() []string {
	return []string{"initdb", "postgres", "pg_isready", "pg_amcheck", "pg_dump"}
}

// as runs a command as PostgreSQL's user, since its server refuses root.
func (p *postgres) as(name string, args ...string) (*exec.Cmd, error) {
	path, err := program(name)
	if err != nil {
		return nil, err
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	c := exec.Command(path, args...)
	c.Dir, c.SysProcAttr = "/", &syscall.SysProcAttr{Setpgid: true, // an interrupt at the terminal is not for it
		Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return c, nil
}

func (p *postgres) create() error {
	c, err := p.as("initdb", "-D", p.folder, "-U", "hiregate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions")
	if err != nil {
		return err
	}
	owner := c.SysProcAttr.Credential
	if err := errors.Join(os.Mkdir(p.folder, 0o700), os.Chown(p.folder, int(owner.Uid), int(owner.Gid))); err != nil {
		return err
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	address, err := freeAddress()
	p.port = address[strings.LastIndex(address, ":")+1:]
	return err
}

func (p *postgres) address() string {
	return "postgres://hiregate@127.0.0.1:" + p.port + "/postgres?sslmode=disable"
}

func (p *postgres) start(ctx context.Context) error {
	os.Remove(filepath.Join(p.folder, "postmaster.pid")) // of before the cut: after one, another process may have its number
	c, err := p.as("postgres", "-D", p.folder, "-p", p.port, "-k", "", "-c", "listen_addresses=127.0.0.1")
	if err != nil {
		return err
	}
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := c.Start(); err != nil {
		return err
	}
	p.running = c
	go c.Wait()
	for range 600 {
		if _, err = command("pg_isready", "-h", "127.0.0.1", "-p", p.port, "-U", "hiregate"); err == nil {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	said, _ := os.ReadFile(p.log)
	return fmt.Errorf("PostgreSQL does not come up on what a cut left: %w: %s", err, said)
}

// check has PostgreSQL compare each table with its indexes, and read each row.
func (p *postgres) check() error {
	at := []string{"-h", "127.0.0.1", "-p", p.port, "-U", "hiregate", "-d", "postgres"}
	_, err := command("pg_amcheck", append(at, "--install-missing", "--heapallindexed")...)
	if err == nil {
		_, err = command("pg_dump", append(at, "-f", "/dev/null")...)
	}
	return err
}

// kill kills the server with its other processes. None is waited for: they may wait for the disk.
func (p *postgres) kill() {
	if p.running == nil {
		return
	}
	pid := p.running.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	p.running.Process.Kill()
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	p.running = nil
}
