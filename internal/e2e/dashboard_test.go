package e2e

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDashboardsAndAlerts has a real Prometheus scrape a gateway, with the configuration of deploy/prometheus: after
// an export went through, every query of the dashboard has an answer, every rule can be evaluated, and the dashboard
// and the rules ask for metrics, labels and values that are there.
func TestDashboardsAndAlerts(t *testing.T) {
	t.Parallel()
	authorities := newAuthority(t)
	authorities.make(&x509.Certificate{Subject: pkix.Name{CommonName: "gate"}})
	s := newSystemWith(t, setup{tenant: "invalid quarantine\n" + shortRetries +
		"\napply_upstream http://127.0.0.1:1 {\nuser us\npassword a-password-of-ours\n}", routes: "handle_path /apply/* {\napply_api\n}\n" +
		strings.Replace(signInRoute, "key ", "upstream_oidc http://127.0.0.1:1 {\nclient_id us\nclient_secret a-secret-of-ours\n}\nkey ", 1),
		options: fmt.Sprintf("tenant globex {\nsecret %[1]s\nintegration hris {\nurl https://127.0.0.1:1/in\nsecret %[1]s\nverify off\n"+
			"tls {\ncert %[2]s\nkey %[3]s\n}\n}\n}", outboundSecret, authorities.file("gate.pem"), authorities.file("gate.key"))})
	s.startRecorder(func(event string, n int) int {
		if n == 1 { // of each event, so that something is not delivered
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	object, err := os.ReadFile(sample(t, "document-object.json"))
	require.NoError(t, err)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(object)
	}))
	t.Cleanup(service.Close)
	full, err := os.ReadFile(sample(t, "export-full.json"))
	require.NoError(t, err)

	p := startPrometheus(t, s)
	require.Eventually(t, func() bool { return len(p.query(t, `up{job="hiregate"} == 1`)) == 1 }, patience,
		100*time.Millisecond, "the gateway is not scraped")
	s.awaitOutcome(s.accepted([]byte(strings.ReplaceAll(string(full), "http://127.0.0.1:9099", service.URL))), "delivered")

	s.accepted([]byte(`{"candidate":{"person":{"name":"no object"}}}`))
	s.awaitMetric("hiregate_quarantined_exports", `tenant="acme"`, 1)
	s.awaitMetric("hiregate_integration_configured", `tenant="acme"`, 1)

	body(t, s.url("/apply/compliance/complianceOfccp"))
	s.makeApp()
	status, _, err := s.exchange(s.code())
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)

	queries := dashboard(t)
	require.Greater(t, len(queries), 15)
	for _, query := range queries {
		// What Grafana puts in is several times what lies between two scrapes.
		expr := strings.NewReplacer("$__rate_interval", "1m", "$tenant", ".*").Replace(query)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			series := p.query(c, expr)
			assert.NotEmpty(c, series, "there is no series")
			for _, value := range series {
				assert.NotEqual(c, "NaN", value)
			}
		}, patience, 200*time.Millisecond, query)
	}
	rules := p.rules(t)
	require.Greater(t, len(rules), 10)

	exposed := body(t, s.url("/metrics"))
	for _, query := range append(queries, rules...) {
		requireExposed(t, exposed, strings.ReplaceAll(query, `=~"$tenant"`, `=~""`))
	}
}

// prometheus is a running Prometheus.
type prometheus struct{ address string }

// startPrometheus runs Debian's Prometheus with the configuration of deploy/prometheus, in which only addresses and
// intervals are changed. In the rules, each of the texts in pairs is replaced by the one that follows it.
func startPrometheus(t *testing.T, s *system, pairs ...string) *prometheus {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	require.NoError(t, err, "run make deps: this test needs Prometheus")
	folder := filepath.Join("..", "..", "deploy", "prometheus")
	raw, err := os.ReadFile(filepath.Join(folder, "prometheus.yml"))
	require.NoError(t, err)
	rules, err := os.ReadFile(filepath.Join(folder, "alerts.yml"))
	require.NoError(t, err)
	config := string(raw)
	at := loopback(freePorts(t, 1)[0])
	for old, moved := range map[string]string{
		"gateway:9180": loopback(s.http), "temporal:9090": at, "127.0.0.1:9090": at,
		"scrape_interval: 15s": "scrape_interval: 500ms", "evaluation_interval: 15s": "evaluation_interval: 500ms",
	} {
		require.Equal(t, 1, strings.Count(config, old), old)
		config = strings.Replace(config, old, moved, 1)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alerts.yml"),
		[]byte(strings.NewReplacer(pairs...).Replace(string(rules))), 0o600))
	server := start(t, nil, program, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+at, "--log.level=warn")
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + at + "/-/ready")
		if err != nil {
			return server.hasEnded()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, patience, 50*time.Millisecond, "Prometheus does not come up")
	require.False(t, server.hasEnded(), server.out.String())
	return &prometheus{at}
}

func (p *prometheus) ask(t require.TestingT, path string, data any) {
	resp, err := http.Get("http://" + p.address + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
	require.Empty(t, answer.Error, path)
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// query evaluates an expression now and returns the value of each series.
func (p *prometheus) query(t require.TestingT, expr string) (values []string) {
	var data struct{ Result []struct{ Value [2]any } }
	p.ask(t, "/api/v1/query?query="+url.QueryEscape(expr), &data)
	for _, one := range data.Result {
		values = append(values, one.Value[1].(string))
	}
	return values
}

// rules returns the expressions of all rules, once each was evaluated without an error.
func (p *prometheus) rules(t *testing.T) (exprs []string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Query, Health, LastError string }
			}
		}
		p.ask(c, "/api/v1/rules", &data)
		exprs = nil
		for _, group := range data.Groups {
			for _, rule := range group.Rules {
				assert.Equal(c, "ok", rule.Health, "%s: %s", rule.Name, rule.LastError)
				exprs = append(exprs, rule.Query)
			}
		}
	}, patience, 200*time.Millisecond)
	return exprs
}

// dashboard returns the query of every target of the dashboard's panels.
func dashboard(t *testing.T) (queries []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "hiregate.json"))
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &board))
	for _, panel := range board.Panels {
		require.Equal(t, panel.Type != "row", len(panel.Targets) > 0, "panel %q", panel.Title)
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

var (
	selector = regexp.MustCompile(`\b(hiregate_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	value    = regexp.MustCompile(`[\w-]+`)
)

// requireExposed looks for the metrics and labels of an expression in what the gateway exposes, and for the values of
// the labels in the list of docs/watch.md, since those of what did not happen are not exposed.
func requireExposed(t *testing.T, exposed, expr string) {
	t.Helper()
	documented, err := os.ReadFile(filepath.Join("..", "..", "docs", "watch.md"))
	require.NoError(t, err)
	var has []string // labels of the expression's metrics
	for _, found := range selector.FindAllStringSubmatch(expr, -1) {
		line := regexp.MustCompile(`(?m)^` + found[1] + `(?:\{(.*)\})? `).FindStringSubmatch(exposed)
		require.NotNil(t, line, "%s is not a metric of the gateway: %s", found[1], expr)
		labels := []string{"instance", "job"}
		for _, label := range matcher.FindAllStringSubmatch(line[1], -1) {
			labels = append(labels, label[1])
		}
		for _, label := range matcher.FindAllStringSubmatch(found[2], -1) {
			require.Contains(t, labels, label[1], "%s has no such label: %s", found[1], expr)
			for _, word := range value.FindAllString(label[2], -1) {
				require.True(t, strings.Contains(string(documented), "`"+word+"`"), "docs/watch.md lists no value %s: %s",
					word, expr)
			}
		}
		has = append(has, labels...)
	}
	for _, list := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, label := range value.FindAllString(list[1], -1) {
			require.True(t, slices.Contains(has, label), "there is no label %s: %s", label, expr)
		}
	}
}
