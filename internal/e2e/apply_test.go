package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newApply is a service at which a partner can apply for the job NURSE-1 of initech, and gives a token. Who applies
// enters a step whose helper exports them. options are further lines of the gateway's block.
func newApply(t *testing.T, questions string, options ...string) (s *system, token string) {
	t.Helper()
	s = newSystemWith(t, setup{options: strings.Join(options, "\n"), routes: "handle_path /apply/* {\napply_api\n}"})
	s.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{}})
	s.put("/tenants/initech/steps", map[string]any{"items": []any{map[string]string{"id": "new", "name": "New"}}})
	s.put("/tenants/initech/steps/new/helper", map[string]any{"integrations": []string{}})
	s.put("/tenants/initech/jobs/NURSE-1", map[string]any{"id": "job-1", "title": "Nurse", "customFields": []any{},
		"questions": json.RawMessage(questions)})
	s.post201("/tenants/initech/api-users", map[string]string{"userName": "partner@example.com",
		"password": "correct horse"})
	return s, applyToken(t, s.url("/apply"))
}

// applyToken gets a token of the Apply API for partner@example.com.
func applyToken(t *testing.T, base string) string {
	t.Helper()
	return applyTokenOf(t, base, "partner@example.com")
}

func applyTokenOf(t *testing.T, base, user string) string {
	t.Helper()
	resp, err := http.Post(base+"/v2/authentication", "application/json",
		strings.NewReader(`{"userName":"`+user+`","password":"correct horse"}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	var answer struct{ Token string }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	require.NotEmpty(t, answer.Token)
	return answer.Token
}

// apply submits an application. An error means that no answer came.
func (s *system) apply(token, key string, body io.Reader) (status int, id string, answer []byte, err error) {
	return apply(s.url("/apply"), token, key, body)
}

func apply(base, token, key string, body io.Reader) (status int, id string, answer []byte, err error) {
	r, err := http.NewRequest(http.MethodPost, base+"/v2/application", body)
	if err != nil {
		return 0, "", nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("X-Application-Id"), answer, err
}

const emailAndResume = `[{"id":"email","format":"Text","isRequired":true,"label":"E-mail","options":null,"maxLength":null,"group":null},
	{"id":"resume","format":"File","isRequired":true,"label":"Resume","options":null,"maxLength":null,"group":null}]`

// slowly sends a body in pieces, with a pause before each, so that a kill may fall anywhere in it.
type slowly struct {
	t     *testing.T
	left  []byte
	pause time.Duration
}

func (r *slowly) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	wait(r.t, r.pause)
	n := copy(p[:min(len(p), 64<<10)], r.left)
	r.left = r.left[n:]
	return n, nil
}

// TestAnApplicationIsThereWhollyOrNotAtAll kills the gateway while applications come in. A 204 that was seen is
// exactly one application; where none was, it is there with all that belongs to it, or nothing of it is. A repeat with
// the same Idempotency-Key then gets its 204, and there still is one.
func TestAnApplicationIsThereWhollyOrNotAtAll(t *testing.T) {
	const rounds, atOnce = 8, 6
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, token := newApply(t, emailAndResume)
	partner := s.startRecorder(func(string, int) int { return http.StatusOK })
	s.post201("/tenants/initech/integrations", map[string]any{"name": "hris", "url": "http://" + s.partner() + "/in/7",
		"secret": outboundSecret})

	content := append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("0123456789abcdef"), 1<<15)...) // 512 KiB
	pdf := base64.StdEncoding.EncodeToString(content)
	body := func(n int) []byte {
		answers := fmt.Sprintf(`"answers":[{"questionId":"email","value":"p-%d@example.com"},{"questionId":"resume","value":"%s"}]`, n, pdf)
		if n%2 == 0 { // of every other one the files have to wait, since nobody knows yet what the job asks
			return []byte(`{` + answers + `,"source":"","jobBoardCode":"NURSE-1"}`)
		}
		return []byte(`{"jobBoardCode":"NURSE-1","source":"",` + answers + `}`)
	}
	seen := make([]string, rounds*atOnce) // id that a 204 told; empty: none was seen
	for round := range rounds {
		var group sync.WaitGroup
		var taken atomic.Int64
		for n := round * atOnce; n < (round+1)*atOnce; n++ {
			begin, pause := time.Duration(random.IntN(20))*time.Millisecond, time.Duration(random.IntN(4000))*time.Microsecond
			group.Go(func() {
				wait(t, begin)
				if status, id, answer, err := s.apply(token, fmt.Sprint("k-", n), &slowly{t, body(n), pause}); err == nil {
					assert.Equal(t, http.StatusNoContent, status, "%s", answer)
					seen[n] = id
					taken.Add(1)
				}
			})
		}
		if round%2 == 0 {
			wait(t, time.Duration(20+random.IntN(100))*time.Millisecond)
		} else { // with one answer seen, and the others somewhere
			require.Eventually(t, func() bool { return taken.Load() > 0 }, patience, time.Millisecond)
		}
		s.gateway.kill()
		group.Wait()
		s.startGateway()
	}

	there, answered := 0, 0
	of := func(n int) (applications []string) {
		var people, all struct{ Items []struct{ ID string } }
		s.read("/tenants/initech/candidates?email="+url.QueryEscape(fmt.Sprintf("p-%d@example.com", n)), &people)
		if len(people.Items) == 0 {
			return nil
		}
		require.Len(t, people.Items, 1)
		s.read("/tenants/initech/job-applications?candidate="+people.Items[0].ID, &all)
		for _, a := range all.Items {
			applications = append(applications, a.ID)
		}
		require.NotEmpty(t, applications, "a candidate without an application is a half of one")
		return applications
	}
	for n := range seen {
		all := of(n)
		require.LessOrEqual(t, len(all), 1)
		if seen[n] != "" {
			answered++
			require.Equal(t, []string{seen[n]}, all, "a 204 was seen")
		}
		if len(all) == 1 {
			there++
			var documents struct{ Items []struct{ Size int } }
			s.read("/tenants/initech/job-applications/"+all[0]+"/documents", &documents)
			require.Len(t, documents.Items, 1)
			require.Equal(t, len(content), documents.Items[0].Size)
		}
	}
	t.Logf("%d of %d are there, %d were answered", there, len(seen), answered)
	require.Positive(t, there, "every one was broken off")
	require.Less(t, answered, len(seen), "none was broken off")
	require.Len(t, s.files(), there, "a file is left of an application that is not there")
	for n := range seen {
		status, id, answer, err := s.apply(token, fmt.Sprint("k-", n), bytes.NewReader(body(n)))
		require.NoError(t, err)
		require.Equal(t, http.StatusNoContent, status, "%s", answer)
		require.Equal(t, []string{id}, of(n))
	}
	require.EqualValues(t, there, s.metric("hiregate_applications_total", `result="repeated"`))
	require.EqualValues(t, len(seen)-there, s.metric("hiregate_applications_total", `result="accepted"`))
	require.Len(t, s.files(), len(seen))
	require.Eventually(t, func() bool { return len(partner.uuids()) >= len(seen) }, patience, 50*time.Millisecond,
		"an export is missing")
	require.Len(t, partner.uuids(), len(seen), "one export an application")
}

// uuids are those of the exports that came.
func (r *recorder) uuids() map[string]bool {
	all := map[string]bool{}
	for _, one := range r.of("CANDIDATE-EXPORT") {
		all[one.id] = true
	}
	return all
}

// answers writes an application with files of a size, in bytes before base64, without holding it.
func answers(files, size int) io.Reader {
	parts := []io.Reader{strings.NewReader(
		`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"email","value":"ada@example.com"}`)}
	for n := range files {
		parts = append(parts, strings.NewReader(fmt.Sprintf(`,{"questionId":"f-%d","value":"`, n)),
			io.LimitReader(letters{}, int64(size/3*4)), strings.NewReader(`"}`))
	}
	return io.MultiReader(append(parts, strings.NewReader("]}"))...)
}

// letters are without end; as base64 they are a text.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	const piece = "YWJj" // abc
	n := len(p) / len(piece) * len(piece)
	if n == 0 {
		return copy(p, piece[:len(p)]), nil
	}
	for at := 0; at < n; at += len(piece) {
		copy(p[at:], piece)
	}
	return n, nil
}

// TestLargeApplicationsTakeLittleMemory submits ten applications of 60 MiB at once: the process stays below 256 MiB
// above what it has when idle.
func TestLargeApplicationsTakeLittleMemory(t *testing.T) {
	const files, size, atOnce = 5, 9 << 20, 10
	var questions []string
	for n := range files {
		questions = append(questions,
			fmt.Sprintf(`{"id":"f-%d","format":"File","isRequired":true,"label":"File","options":null,"maxLength":null,"group":null}`, n))
	}
	s, token := newApply(t, `[{"id":"email","format":"Text","isRequired":true,"label":"E-mail","options":null,"maxLength":null,"group":null},`+strings.Join(questions, ",")+`]`)
	idle := s.resident()
	most := idle
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			status, _, answer, err := s.apply(token, "", answers(files, size))
			assert.NoError(t, err)
			assert.Equal(t, http.StatusNoContent, status, "%s", answer)
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	for watching := true; watching; {
		most = max(most, s.resident())
		select {
		case <-time.After(20 * time.Millisecond):
		case <-done:
			watching = false
		}
	}
	t.Logf("%d MiB when idle, %d at most", idle>>20, most>>20)
	require.Less(t, most-idle, 256<<20)
	require.Len(t, s.files(), files*atOnce)
}

// resident is how much memory the gateway has, in bytes.
func (s *system) resident() (bytes int) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.gateway.cmd.Process.Pid))
	require.NoError(s.t, err)
	_, rest, ok := strings.Cut(string(raw), "VmRSS:")
	require.True(s.t, ok)
	_, err = fmt.Sscanf(rest, "%d kB", &bytes)
	require.NoError(s.t, err)
	return bytes << 10
}
