package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSubmissionsOutliveKills sends 20 applications a second, with two files each, through a gateway to a service that is
// another gateway. Gateway, Temporal and service are killed in turn. What was acknowledged is at the service, whole; and since
// what stands before the service loses each Idempotency-Key, what is there twice is what the gateway marks so.
func TestSubmissionsOutliveKills(t *testing.T) {
	t.Parallel()
	const applications, every = 160, 50 * time.Millisecond
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const open = "handle_path /apply/* {\napply_api {\nrate 1000/s burst 1000\n}\n}"
	service := newReceiver(t, setup{routes: open})
	service.put("/tenants/initech", map[string]any{"name": "Initech", "secrets": []string{}})
	letter := strings.NewReplacer("resume", "letter", "Resume", "Letter").Replace(strings.Split(emailAndResume, "\n")[1])
	service.put("/tenants/initech/jobs/NURSE-1", map[string]any{"id": "job-1", "title": "Nurse", "customFields": []any{},
		"questions": json.RawMessage(strings.TrimSuffix(emailAndResume, "]") + "," + letter)})
	user := map[string]string{"userName": "partner@example.com", "password": "correct horse"}
	service.post201("/tenants/initech/api-users", user)

	s := newSystemWith(t, setup{routes: open, tenant: "apply_upstream " + withoutKeys(t, service) + ` {
		user     partner@example.com
		password "correct horse"
		wait     2s
		rate     1000/s burst 1000
	}`})
	s.post201("/tenants/acme/api-users", user)
	token := applyToken(t, s.url("/apply"))

	receipts := make([]string, applications) // by the number of the applicant
	email := func(n int) string { return fmt.Sprintf("p-%d@example.com", n) }
	var sent, acknowledged atomic.Int64
	var sending sync.WaitGroup
	sending.Go(func() {
		for n := range applications {
			body := fmt.Sprintf(`{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"email","value":%q},
				{"questionId":"resume","value":"JVBERi0xLjQKcmVzdW1l"},{"questionId":"letter","value":"JVBERi0xLjQKbGV0dGVy"}]}`, email(n))
			sending.Go(func() {
				for t.Context().Err() == nil {
					status, id, _, err := s.apply(token, fmt.Sprint("k-", n), strings.NewReader(body))
					if err == nil && status == http.StatusNoContent {
						receipts[n] = id
						acknowledged.Add(1)
						return
					}
					wait(t, 100*time.Millisecond)
				}
			})
			sent.Add(1)
			wait(t, every)
		}
	})
	killed := []string{"gateway", "temporal", "service"}
	random.Shuffle(len(killed), func(i, j int) { killed[i], killed[j] = killed[j], killed[i] })
	for n, what := range killed {
		moment := int64((n+1)*applications/4 - random.IntN(applications/8))
		require.Eventually(t, func() bool { return sent.Load() >= moment }, patience, time.Millisecond)
		t.Logf("%s killed after %d acknowledgements", what, acknowledged.Load())
		switch what {
		case "gateway":
			s.gateway.kill()
			s.startGateway()
		case "temporal":
			s.temporal.kill()
			s.startTemporal()
		default:
			service.gateway.kill()
			service.startGateway()
		}
	}
	sending.Wait()

	uncertain := map[string]bool{}
	require.Eventually(t, func() bool {
		var page struct {
			Items []struct {
				ID, State string
				Uncertain bool
			}
		}
		s.read("/tenants/acme/submissions?limit=500", &page)
		delivered := 0
		for _, one := range page.Items {
			uncertain[one.ID] = one.Uncertain
			if one.State == "delivered" {
				delivered++
			}
		}
		return delivered == applications
	}, patience, time.Second, "what was acknowledged does not arrive")
	twice := 0
	for n, receipt := range receipts {
		var people, all struct{ Items []struct{ ID string } }
		service.read("/tenants/initech/candidates?email="+url.QueryEscape(email(n)), &people)
		require.Len(t, people.Items, 1, "%s is at the service once", email(n))
		service.read("/tenants/initech/job-applications?candidate="+people.Items[0].ID, &all)
		require.NotEmpty(t, all.Items)
		for _, one := range all.Items {
			var documents struct{ Items []struct{ Size int } }
			service.read("/tenants/initech/job-applications/"+one.ID+"/documents", &documents)
			require.Len(t, documents.Items, 2)
		}
		if len(all.Items) > 1 {
			twice++
			require.True(t, uncertain[receipt], "%s is at the service %d times, and is not marked", email(n), len(all.Items))
		}
	}
	t.Logf("%d acknowledged and delivered, %d more than once", acknowledged.Load(), twice)
}

// withoutKeys returns the address of the Apply API of a service behind a proxy that passes no Idempotency-Key on.
func withoutKeys(t *testing.T, service *system) string {
	t.Helper()
	to, err := url.Parse(service.url(""))
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Idempotency-Key")
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL + "/apply"
}
