package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

const applySite = `handle_path /apply/* {
		apply_api {
			rate 100000/s burst 100000
		}
	}`

// largeFile is the size of the file in the applications that have one, as base64, and uploaders is how many of them are sent at once.
const (
	largeFile = 12 << 20
	uploaders = 4
)

// applied is what a server did with applications.
type applied struct {
	Name  string
	Small result
	Large float64 // MiB a second of bodies
	Most  int     // memory of the process, in bytes, at most
	Idle  int
}

// applications measures the Apply API beside a handler that reads the same bodies and keeps nothing.
func applications(binary, dir string, during time.Duration, postgres func() (string, error)) (all []applied, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for n, one := range []struct {
		name, binary, site string
		database           func() (string, error)
	}{
		{"bare handler, body read", self, "bench_read", nil},
		{"Apply API on SQLite", binary, applySite, nil},
		{"Apply API on PostgreSQL", binary, applySite, postgres},
	} {
		o := options{folder: filepath.Join(dir, fmt.Sprint("apply-", n)), site: one.site}
		if one.database != nil {
			if o.database, err = one.database(); err != nil {
				return nil, err
			}
		}
		a, err := measureApplications(one.binary, o, during)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		a.Name = one.name
		say("  %-24s %6.0f/s  %4.0f MiB/s", a.Name, a.Small.rate(), a.Large)
		all = append(all, a)
	}
	return all, nil
}

func measureApplications(binary string, o options, during time.Duration) (a applied, err error) {
	defer os.RemoveAll(o.folder)
	s, err := serve(binary, o)
	if err != nil {
		return a, err
	}
	defer s.stop()
	token := "none"
	if o.site == applySite {
		if token, err = s.prepareApply(); err != nil {
			return a, err
		}
	}
	headers := "Authorization: Bearer " + token + "\r\n"
	if a.Idle, err = s.resident(); err != nil {
		return a, err
	}
	ask := func(connection, n int) (string, []byte) {
		return "/apply/v2/application", fmt.Appendf(nil, `{"jobBoardCode":"SMALL","source":"bench","answers":[{"questionId":"firstName","value":"Ada"},{"questionId":"lastName","value":"Lovelace"},
			{"questionId":"email","value":"ada-%d-%d@example.com"},{"questionId":"phone","value":"+1 555 0100"},{"questionId":"shifts","value":"Day|Night"}]}`, connection, n)
	}
	if a.Small, err = load(s.address, headers, ask, http.StatusNoContent, connections, during); err != nil {
		return a, err
	}
	return a, s.upload(&a, headers, during)
}

// upload sends applications with a large file for a while, and watches the server's memory.
func (s *server) upload(a *applied, headers string, during time.Duration) error {
	end := time.Now().Add(during)
	var sending, watching sync.WaitGroup
	var mu sync.Mutex
	var fault error
	sent, done := 0, make(chan struct{})
	watching.Go(func() {
		for {
			now, err := s.resident()
			if err == nil {
				a.Most = max(a.Most, now)
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-done:
				return
			}
		}
	})
	began := time.Now()
	for range uploaders {
		sending.Go(func() {
			for time.Now().Before(end) {
				err := s.sendLarge(headers)
				mu.Lock()
				sent++
				fault = err
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	sending.Wait()
	took := time.Since(began)
	close(done)
	watching.Wait()
	a.Large = float64(sent*largeFile) / took.Seconds() / (1 << 20)
	return fault
}

func (s *server) sendLarge(headers string) error {
	const head, tail = `{"jobBoardCode":"LARGE","source":"bench","answers":[{"questionId":"file","value":"`, `"}]}`
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /apply/v2/application HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		s.address, len(head)+largeFile+len(tail), headers, head)
	piece := []byte(strings.Repeat("YWJj", 16<<10)) // abc
	for left := largeFile; left > 0; left -= len(piece) {
		if _, err := conn.Write(piece[:min(left, len(piece))]); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(conn, tail); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && !strings.HasPrefix(string(answer), "HTTP/1.1 204") {
		err = fmt.Errorf("an application was answered %.300s", answer)
	}
	return err
}

// prepareApply makes jobs and a partner, and gets a token.
func (s *server) prepareApply() (token string, err error) {
	type object map[string]any
	text := func(id string) object { return object{"id": id, "format": "Text", "isRequired": true, "label": id} }
	m := managed{"http://" + s.address + "/manage/v1/tenants/initech"}
	for _, one := range []struct {
		path string
		body any
	}{
		{"", object{"name": "Initech", "secrets": []string{}}},
		{"/jobs/SMALL", object{"id": "job-1", "title": "Nurse", "customFields": []any{}, "questions": []object{text("firstName"), text("lastName"), text("email"),
			{"id": "phone", "format": "Phone", "label": "Phone"}, {"id": "shifts", "format": "Checkbox", "isRequired": true, "label": "Shifts", "options": []string{"Day", "Night"}}}}},
		{"/jobs/LARGE", object{"id": "job-2", "title": "Nurse", "customFields": []any{}, "questions": []object{{"id": "file", "format": "File", "isRequired": true, "label": "File"}}}},
	} {
		if err := m.put(one.path, one.body); err != nil {
			return "", err
		}
	}
	user := object{"userName": "partner@example.com", "password": "correct horse"}
	if err := m.post("/api-users", user); err != nil {
		return "", err
	}
	raw, err := json.Marshal(user)
	if err != nil {
		return "", err
	}
	resp, err := http.Post("http://"+s.address+"/apply/v2/authentication", "application/json", strings.NewReader(string(raw)))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct{ Token string }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Token, err
}

// resident is how much memory the server's process has, in bytes.
func (s *server) resident() (bytes int, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	_, err = fmt.Sscanf(rest, "%d kB", &bytes)
	return bytes << 10, err
}

func reportApplications(all []applied) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\napplications\tper second\tof bare\tp50\tp99\tfailed\twith a file of %d MiB, MiB/s\tof bare\tmemory above idle, MiB\t\n", largeFile*3/4>>20)
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%s\t%s\t%d\t%.0f\t%.2f\t%d\t\n", a.Name, a.Small.rate(), a.Small.rate()/all[0].Small.rate(), a.Small.P50.Round(10*time.Microsecond),
			a.Small.P99.Round(10*time.Microsecond), a.Small.Failed, a.Large, a.Large/all[0].Large, (a.Most-a.Idle)>>20)
	}
	return w.Flush()
}

// reader is the handler to compare with: it reads each body and keeps nothing.
type reader struct{}

func init() {
	caddy.RegisterModule(reader{})
	httpcaddyfile.RegisterHandlerDirective("bench_read", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		return &reader{}, nil
	})
	httpcaddyfile.RegisterDirectiveOrder("bench_read", httpcaddyfile.Before, "respond")
}

// CaddyModule implements caddy.Module.
func (reader) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.bench_read", New: func() caddy.Module { return new(reader) }}
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (*reader) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
