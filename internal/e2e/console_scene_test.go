package e2e

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// scene is what the pages of the console are about: a gateway with exports in every state.
type scene struct {
	*system
	ports   devPorts
	dir     string
	partner *httptest.Server
	came    sync.Map // the events that came, by the path that they came to
	names

	began                      time.Time // before the first export
	waits, erased, quarantined string    // exports of the tenant, by UUID
	redelivery, person         string    // by id
	submission                 string    // of acme
	applicant                  string    // candidate of initech, by id, who applied twice
	portal                     string    // an address
}

// names are those that are shown on many pages. Each UUID of an export is followed by the tail.
type names struct{ tenant, title, failing, candidate, job, client, email, family, tail string }

var (
	// plain are names as most have them.
	plain = names{"northgate", "Northgate Logistics", "payroll", "c-zoe", "NURSE-1", "payroll", "grace@example.com", "Ødegård", ""}
	// long are names as long as some have them, of 60 characters, and of 63 where these are the most: with hyphens to
	// break a line at, and without; from right to left, and of signs that are several characters. A UUID has up to 255.
	long = names{"gemeinnuetzige-beteiligungsgesellschaft-norddeutschland-mbh2345", strings.Repeat("مستشفى👩🏽‍⚕️", 5),
		"personalverwaltungssystemschnittstellenkonfigurationsdienst1234", strings.Repeat("c0ffee", 10),
		strings.Repeat("NURSE", 12), strings.Repeat("abrechnung", 6), strings.Repeat("vorname", 6) + "@example.com",
		strings.Repeat("عبدالرحمن", 6), strings.Repeat("a", 255-len(uuid.UUID{}.String()))}
)

// newScene starts a gateway with a partner that answers as the path of an integration's address says.
func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{ports: newDevPorts(t), dir: t.TempDir()}
	s.system = &system{t: t, admin: s.ports.admin}
	dev(t, s.dir, s.ports).line(devReady)
	s.partner = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, came := s.came.LoadOrStore(r.Header.Get("X-Service-Event")+r.URL.Path, true); !came {
			return // VERIFY and the first export are received
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/fails/"):
			http.Error(w, "Maintenance until tomorrow.", http.StatusServiceUnavailable)
		case strings.HasPrefix(r.URL.Path, "/refuses/"):
			http.Error(w, "The cost centre 4411-07 is closed.", http.StatusUnprocessableEntity)
		}
	}))
	t.Cleanup(s.partner.Close)
	return s
}

// furnish makes a tenant with an integration that receives, one that fails and one that refuses, exports in every
// state, and of everything else one thing, under the names.
func (s *scene) furnish(n names) {
	s.t.Helper()
	s.names = n
	of := "/tenants/" + n.tenant
	s.put(of, map[string]any{"name": n.title, "secrets": []string{inboundSecret}, "invalid": "quarantine"})
	for name, behaviour := range map[string]string{"hris": "receives", n.failing: "fails", "analytics": "refuses"} {
		s.put(of+"/integrations/"+name, map[string]any{"url": s.partner.URL + "/" + behaviour + "/" + n.tenant,
			"secret": "their-signing-secret", "retry": []string{"1s", "1s", "2s", "15m"}, "rate": map[string]any{"perSecond": 50, "burst": 100},
			"authentication": map[string]any{"basic": map[string]string{"user": "hiregate", "password": "their-password"},
				"headers": []any{map[string]string{"name": "X-Api-Key", "value": "their-key"}}}})
	}
	s.began = time.Now()
	s.erased = s.sent(minimal(uuid.NewString())) // once it was received
	s.awaitState(n.failing, "configured")
	s.awaitState("analytics", "configured")
	hook := s.ports.url("/hooks/" + n.tenant)
	out, code := run(s.t, nil, hiregate(s.t), "send", hook, "--secret", inboundSecret, "--payload",
		sample(s.t, "export-full.json"), "--document", sample(s.t, "resume.pdf"))
	require.Zero(s.t, code, out)
	s.waits = uuidLine.FindStringSubmatch(out)[1]
	for range 12 {
		s.sent(minimal(uuid.NewString()))
	}
	s.quarantined = s.sent([]byte(`{"candidate":{"person":{"name":"no object"}}}`))

	var made struct{ ID, URL string }
	s.posted(of+"/exports/"+s.erased+"/erase", map[string]any{"cancel": true}, &made)
	s.awaitState("hris", "configured")
	s.awaitState(n.failing, "failing")
	s.awaitState("analytics", "refusing")
	s.posted(of+"/redeliveries", map[string]any{"integration": "hris", "mode": "all", "since": s.began.Add(-time.Minute),
		"rate": 1}, &made)
	s.redelivery = made.ID
	s.posted(of+"/redeliveries/"+made.ID+"/pause", nil, &made)
	s.posted(of+"/portal", map[string]any{"bodies": true}, &made)
	s.portal = made.URL
	s.past(n.tenant, n.failing, "hris", "analytics")

	if n == plain {
		answers, err := os.ReadFile(sample(s.t, "application.json"))
		require.NoError(s.t, err)
		s.applied("acme", answers)
		var all struct{ Items []struct{ ID string } }
		s.read("/tenants/acme/submissions", &all)
		require.NotEmpty(s.t, all.Items)
		s.submission = all.Items[0].ID
	} else { // those are of the sample data
		s.put("/tenants/initech/jobs/"+n.job, map[string]any{"id": "id-" + n.job, "title": n.job, "customFields": []any{}})
		s.put("/tenants/initech/candidates/"+n.candidate, map[string]any{
			"name": map[string]string{"given": n.candidate, "family": n.family}, "email": []string{n.email}})
		s.put("/tenants/initech/job-applications/"+n.client, map[string]any{"candidate": n.candidate, "jobBoardCode": n.job})
	}
	s.applicant = s.appliedTwice(n)
	s.put("/tenants/initech/candidates/"+n.candidate+"-2", map[string]any{
		"name": map[string]string{"given": "Ivar", "family": n.family}})
	s.put(of+"/event-subscriptions/maker", map[string]any{"url": s.partner.URL + "/receives/" + n.tenant,
		"secret": "a-secret-of-the-maker"})
	s.posted("/oauth-clients", map[string]any{"id": n.client, "name": "Payroll of Northgate",
		"redirectUris": []string{"https://pay.example.com/" + n.client}}, &made)
	s.posted("/users", map[string]any{"email": n.email, "name": "Grace Hopper", "password": "correct horse"}, &made)
	s.person = made.ID
}

// applied has a site apply at a tenant. What acme receives is relayed to initech.
func (s *scene) applied(tenant string, answers []byte) {
	s.t.Helper()
	site := "site@" + tenant + ".example"
	status, answer, err := s.manage(http.MethodPost, "/tenants/"+tenant+"/api-users",
		map[string]string{"userName": site, "password": "correct horse"})
	require.NoError(s.t, err)
	require.Contains(s.t, []int{http.StatusCreated, http.StatusConflict}, status, "%s", answer)
	base := s.ports.url("/apply")
	status, _, answer, err = apply(base, applyTokenOf(s.t, base, site), "", bytes.NewReader(answers))
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusNoContent, status, "%s", answer)
}

// appliedTwice has a person apply at initech, and once more with other answers, and returns the candidate's id.
func (s *scene) appliedTwice(n names) string {
	s.t.Helper()
	email := "again." + n.email
	for _, why := range []string{"Nights suit me, and so does " + n.family + ".\nI have looked after people since 2011, in two " +
		"hospitals and at sea.", "Nights suit me."} {
		answers, err := json.Marshal(map[string]any{"jobBoardCode": "NURSE-1", "source": "Job board", "answers": []map[string]any{
			{"questionId": "firstName", "value": "Ivar"}, {"questionId": "lastName", "value": n.family},
			{"questionId": "email", "value": email}, {"questionId": "phone", "value": "+47 22 86 55 00"},
			{"questionId": "startDate", "value": "2027-02-01"},
			{"questionId": "resume", "value": base64.StdEncoding.EncodeToString([]byte("%PDF-1.4\n%%EOF\n"))},
			{"questionId": "citizenWorkStatus", "value": "Authorized"}, {"questionId": "1000123", "value": `Night|Weekend \| Holiday`},
			{"questionId": "1000124", "value": "9"}, {"questionId": "1000125", "value": why},
			{"questionId": "eeocVeteran", "value": "I do not want to answer"}}})
		require.NoError(s.t, err)
		s.applied("initech", answers)
	}
	var found struct{ Items []struct{ ID string } }
	s.read("/tenants/initech/candidates?email="+url.QueryEscape(email), &found)
	require.Len(s.t, found.Items, 1)
	return found.Items[0].ID
}

// sent sends an export to the tenant that must be accepted.
func (s *scene) sent(body []byte) (id string) {
	s.t.Helper()
	id = uuid.NewString() + s.tail
	status, answer, err := postSigned(http.DefaultClient, s.ports.url("/hooks/"+s.tenant), inboundSecret, id, body,
		func(*http.Request) {})
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusAccepted, status, "%s", answer)
	return id
}

// past writes a week of attempts, and a day of quarters of an hour, into the database. They end an hour ago.
func (s *scene) past(tenant string, integrations ...string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "hiregate.db")+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	require.NoError(s.t, err)
	defer db.Close()
	tx, err := db.Begin()
	require.NoError(s.t, err)
	busy := func(at time.Time) int { // more by day than by night
		return int(4 + 36*math.Pow(math.Sin(math.Pi*float64(at.Hour()*60+at.Minute())/1440), 4))
	}
	hour := time.Now().UTC().Truncate(time.Hour)
	for n := range 7 * 24 {
		at := hour.Add(-time.Duration(n+1) * time.Hour)
		for i, integration := range integrations {
			attempts, failed := busy(at), 0
			if (n+7*i)%31 == 3 || i == 0 && n < 2 {
				failed = attempts / 2
			}
			slow := attempts / 8
			_, err = tx.Exec(`INSERT INTO integration_hours VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?, 0, ?, 0, ?, 0, 0, 0, 0)`,
				tenant, integration, at.UnixMicro(), attempts, attempts-failed, failed, attempts-2*slow, slow, slow)
			require.NoError(s.t, err)
		}
	}
	for n := range 92 {
		at := hour.Add(-time.Duration(n+1) * 15 * time.Minute)
		_, err = tx.Exec(`INSERT INTO quarters VALUES (?, ?, ?, ?, ?, ?)`, tenant, at.UnixMicro(), busy(at), busy(at), busy(at)/9,
			(time.Duration(busy(at)) * time.Second).Microseconds())
		require.NoError(s.t, err)
	}
	require.NoError(s.t, tx.Commit())
}

// posted posts to the management API, and reads the answer.
func (s *scene) posted(path string, in, out any) {
	s.t.Helper()
	status, answer, err := s.manage(http.MethodPost, path, in)
	require.NoError(s.t, err)
	require.Equal(s.t, 2, status/100, "POST %s: %s", path, answer)
	require.NoError(s.t, json.Unmarshal(answer, out))
}

// awaitState waits for the state of an integration of the tenant.
func (s *scene) awaitState(integration, state string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var status struct {
			Integrations []struct{ Tenant, Name, State string }
		}
		_, answer, err := s.manage(http.MethodGet, "/status", nil)
		return err == nil && json.Unmarshal(answer, &status) == nil &&
			slices.Contains(status.Integrations, struct{ Tenant, Name, State string }{s.tenant, integration, state})
	}, patience, 50*time.Millisecond, "%s is not %s", integration, state)
}

// templates are the names of the pages that the console has.
func templates(t *testing.T) (all []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("..", "..", "modules", "console", "pages"))
	require.NoError(t, err)
	for _, f := range files {
		switch name := strings.TrimSuffix(f.Name(), ".html"); name {
		case "layout", "parts", "sprite": // of every page
		default:
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// refusedSignIn has a sign-in refused, which the page of applications lists.
func (s *scene) refusedSignIn() {
	s.t.Helper()
	newSurfer(s.t).open(s.ports.url("/signin/oauth/authorize?" + url.Values{"client_id": {s.client}, "response_type": {"code"},
		"scope": {"openid"}, "redirect_uri": {"https://nowhere.example/callback"}}.Encode()))
}
