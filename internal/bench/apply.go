package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const applySite = `handle_path /apply/* {
		apply_api {
			rate 100000/s burst 100000
		}
	}`

// largeFile is the size of the file in the applications that have one, as base64, and uploaders is how many of them
// are sent at once.
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
func (b *bench) applications() (all []applied, err error) {
	for _, o := range []options{
		{name: "bare handler, body read", binary: b.self, site: "bench_read"},
		{name: "Apply API on SQLite", site: applySite},
		{name: "Apply API on PostgreSQL", site: applySite, postgres: true},
	} {
		a, err := b.measureApplications(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		say("  %-24s %6.0f/s  %4.0f MiB/s", a.Name, a.Small.rate(), a.Large)
		all = append(all, a)
	}
	return all, nil
}

func (b *bench) measureApplications(o options) (a applied, err error) {
	a.Name = o.name
	s, err := b.serve(o)
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
		return "/apply/v2/application", fmt.Appendf(nil, `{"jobBoardCode":"SMALL","source":"bench","answers":[
			{"questionId":"firstName","value":"Ada"},{"questionId":"lastName","value":"Lovelace"},
			{"questionId":"email","value":"ada-%d-%d@example.com"},{"questionId":"phone","value":"+1 555 0100"},
			{"questionId":"shifts","value":"Day|Night"}]}`, connection, n)
	}
	if a.Small, err = load(s.address, headers, ask, http.StatusNoContent, b.during); err != nil {
		return a, err
	}
	return a, s.upload(&a, headers, b.during)
}

// upload sends applications with a large file for a while, and watches the server's memory.
func (s *server) upload(a *applied, headers string, during time.Duration) error {
	began := time.Now()
	var sending errgroup.Group
	var sent atomic.Int64
	for range uploaders {
		sending.Go(func() error {
			for time.Since(began) < during {
				if err := s.sendLarge(headers); err != nil {
					return err
				}
				sent.Add(1)
			}
			return nil
		})
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			if now, err := s.resident(); err == nil {
				a.Most = max(a.Most, now)
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-done:
				return
			}
		}
	})
	err := sending.Wait()
	a.Large = float64(sent.Load()*largeFile) / time.Since(began).Seconds() / (1 << 20)
	close(done)
	watching.Wait()
	return err
}

func (s *server) sendLarge(headers string) error {
	const head, tail = `{"jobBoardCode":"LARGE","source":"bench","answers":[{"questionId":"file","value":"`, `"}]}`
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /apply/v2/application HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", s.address, len(head)+largeFile+len(tail),
		headers, head)
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
	required := func(id, format string, options ...string) object {
		return object{"id": id, "format": format, "isRequired": true, "label": id, "options": options}
	}
	m := managed{"http://" + s.address + "/manage/v1/tenants/initech"}
	if err := m.put(
		resource{"", object{"name": "Initech", "secrets": []string{}}},
		resource{"/jobs/SMALL", object{"id": "job-1", "title": "Nurse", "customFields": []any{}, "questions": []object{
			required("firstName", "Text"), required("lastName", "Text"), required("email", "Text"), required("phone", "Phone"),
			required("shifts", "Checkbox", "Day", "Night"),
		}}},
		resource{"/jobs/LARGE", object{"id": "job-2", "title": "Nurse", "customFields": []any{},
			"questions": []object{required("file", "File")}}},
	); err != nil {
		return "", err
	}
	user := object{"userName": "partner@example.com", "password": "correct horse"}
	if err := m.post(resource{"/api-users", user}); err != nil {
		return "", err
	}
	raw, err := json.Marshal(user)
	if err != nil {
		return "", err
	}
	resp, err := http.Post("http://"+s.address+"/apply/v2/authentication", "application/json",
		strings.NewReader(string(raw)))
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
	w := table()
	fmt.Fprintf(w, "\napplications\tper second\tof bare\tp50\tp99\tfailed\t"+
		"with a file of %d MiB, MiB/s\tof bare\tmemory above idle, MiB\t\n", largeFile*3/4>>20)
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%s\t%d\t%.0f\t%.2f\t%d\t\n", a.Name, a.Small.rate(),
			a.Small.rate()/all[0].Small.rate(),
			a.Small.percentiles(), a.Small.Failed, a.Large, a.Large/all[0].Large, (a.Most-a.Idle)>>20)
	}
	return w.Flush()
}
