// Package storetest runs tests on every database that the store knows: SQLite in a file of the test's own, and
// PostgreSQL in a private server, which the tests of a process share.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL of our own, at a free port of 127.0.0.1, which trusts whoever reaches it. It ends with this
// process, however that ends.
type Server struct {
	folder string
	port   int
	shell  *exec.Cmd
	life   io.Closer // the shell kills the server when this closes
	log    bytes.Buffer
}

const patience = 60 * time.Second

// The server is a child of a shell that waits for the end of its standard input: that comes with Stop, and with the
// death of this process. The folder is removed by Close, or by the shell when nobody is there to call that.
const keeper = `"$1" -D "$2" -p "$3" -k "" -c listen_addresses=127.0.0.1 -c max_connections=400 -c shared_buffers=64MB </dev/null &
server=$!
stopped=$(cat)
kill -s QUIT $server 2>/dev/null
wait $server
if [ "$stopped" != stop ]; then rm -rf "$2"; fi`

// NewServer makes a server with its data in a new folder, and starts it.
func NewServer() (*Server, error) {
	s := new(Server)
	initdb, err := program("initdb")
	if err != nil {
		return nil, err
	}
	if s.folder, err = os.MkdirTemp("", "hiregate-postgres-"); err != nil {
		return nil, err
	}
	owner, err := unprivileged()
	if err != nil {
		return nil, err
	}
	if owner != nil {
		if err := os.Chown(s.folder, int(owner.Uid), int(owner.Gid)); err != nil {
			return nil, err
		}
	}
	c := exec.Command(initdb, "-D", s.folder, "-U", "hiregate", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")
	c.Dir, c.SysProcAttr = s.folder, &syscall.SysProcAttr{Credential: owner}
	if out, err := c.CombinedOutput(); err != nil {
		os.RemoveAll(s.folder)
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	return s, s.Start()
}

// Start starts the server, and returns once it answers.
func (s *Server) Start() error {
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	owner, err := unprivileged()
	if err != nil {
		return err
	}
	s.shell = exec.Command("sh", "-c", keeper, "sh", postgres, s.folder, strconv.Itoa(s.port))
	s.shell.Dir, s.shell.SysProcAttr = s.folder, &syscall.SysProcAttr{Credential: owner, Setpgid: true} // an interrupt at the terminal is not for it
	s.shell.Stdout, s.shell.Stderr = &s.log, &s.log
	if s.life, err = s.shell.StdinPipe(); err != nil {
		return err
	}
	if err := s.shell.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		conn, err := s.connect()
		if err == nil {
			return conn.Close(context.Background())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("PostgreSQL does not come up: %w", errors.Join(err, s.Close(), errors.New(s.log.String())))
		}
	}
}

func (s *Server) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return pgx.Connect(ctx, s.Address("postgres"))
}

// Stop ends the server at once, as a crash would. Start starts it again, with its data.
func (s *Server) Stop() error {
	if s.shell == nil {
		return nil
	}
	_, err := io.WriteString(s.life.(io.Writer), "stop")
	err = errors.Join(err, s.life.Close())
	_ = s.shell.Wait() // with the status of a server that was told to quit
	s.shell = nil
	return err
}

// Demote makes the server, which is stopped, a replica of none from its next start on. It takes no writes until it is
// promoted.
func (s *Server) Demote() error {
	return os.WriteFile(filepath.Join(s.folder, "standby.signal"), nil, 0o666)
}

// Close ends the server and removes its data.
func (s *Server) Close() error { return errors.Join(s.Stop(), os.RemoveAll(s.folder)) }

// Address returns the address of a database of the server, for store.Open.
func (s *Server) Address(database string) string {
	return fmt.Sprintf("postgres://hiregate@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Create makes a database, a copy of another one, and gives its address.
func (s *Server) Create(name, template string) (string, error) {
	conn, err := s.connect()
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE "+pgx.Identifier{template}.Sanitize())
	return s.Address(name), err
}

// CreateIn is Create with the database's files in a folder. The server's log of changes stays where it is.
func (s *Server) CreateIn(folder, name, template string) (string, error) {
	owner, err := unprivileged()
	if err != nil {
		return "", err
	}
	if owner != nil {
		if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", err
		}
	}
	conn, err := s.connect()
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background())
	for _, statement := range []string{
		"CREATE TABLESPACE " + name + " LOCATION '" + folder + "'",
		"CREATE DATABASE " + name + " TEMPLATE " + template + " TABLESPACE " + name,
	} {
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			return "", err
		}
	}
	return s.Address(name), nil
}

// program finds a program of PostgreSQL's server, which Debian keeps in a folder of its version.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("PostgreSQL's server (%s) is not installed: run make deps", name)
	}
	return found[len(found)-1], nil
}

// unprivileged is whom to run the server as: it refuses root. Nil says that we are somebody else, who will do.
var unprivileged = sync.OnceValues(func() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres to run it as: run make deps")
})

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return strconv.Atoi(port)
}
