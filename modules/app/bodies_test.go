package app_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// At every door that reads a body, whoever sends a byte of it now and then is cut off: by the least rate, which nobody
// has to configure, and by the time that a body has in all.
func TestBodiesThatComeSlowlyAreCutOff(t *testing.T) {
	s := newSite(t)
	for name, change := range map[string]func(*settings){
		"rate": func(c *settings) { c.servers = "timeouts {\nread_body_idle 500ms\n}" },
		"time": func(c *settings) { c.options = "body_time 1s" },
	} {
		with := s.with("acme")
		with.handlers = fmt.Sprintf(`handle_path /apply/* {
			apply_api
		}
		handle_path /manage/* {
			manage_api
		}
		handle_path /signin/* {
			signin {
				base_url http://127.0.0.1:%d/signin
				key MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
			}
		}`, s.port)
		change(&with)
		s.load(with)
		for path, status := range map[string]int{
			"/hooks/acme":                        http.StatusRequestTimeout,
			"/apply/v2/authentication":           http.StatusRequestTimeout,
			"/manage/v1/tenants/acme/jobs/NURSE": http.StatusRequestTimeout,
			"/signin/openId/accessToken":         http.StatusBadRequest,
		} {
			require.Equal(t, status, s.trickle(path), "%s %s", name, path)
		}
	}
}

// trickle sends a body of 10 KB a byte at a time, and gives the status of the answer.
func (s *site) trickle(path string) int {
	s.t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	require.NoError(s.t, err)
	defer conn.Close()
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(50*time.Second))) // which a minute of pauses would exceed
	method, kind := http.MethodPost, "application/json"
	switch path {
	case "/manage/v1/tenants/acme/jobs/NURSE":
		method = http.MethodPut
	case "/signin/openId/accessToken":
		kind = "application/x-www-form-urlencoded"
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer "+
		"dev-key\r\nContent-Type: %s\r\nContent-Length: 10000\r\n\r\n", method, path, s.port, kind)
	require.NoError(s.t, err)
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := conn.Write([]byte(" ")); err != nil {
				return
			}
		}
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	return answer.StatusCode
}
