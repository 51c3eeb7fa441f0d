package deploy

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// promtool's own checks, and its unit tests of the alert rules.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "config", "prometheus/prometheus.yml"},
		{"check", "rules", "--lint=all", "--lint-fatal", "prometheus/alerts.yml"},
		{"test", "rules", "prometheus/tests/alerts.yml", "prometheus/tests/six_hours.yml"},
	} {
		cmd := exec.Command(program(t, "promtool"), args...)
		cmd.Env = append(os.Environ(), "GOGC=800") // a third less work
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "promtool %s:\n%s", args, out)
		require.Contains(t, string(out), "SUCCESS")
	}
}

type alertRules struct {
	Groups []struct {
		Rules []struct {
			Alert       string
			Labels      struct{ Severity string }
			Annotations map[string]string
		}
	}
}

const repairPage = "https://github.com/hiregate/hiregate/blob/main/docs/repair.md"

// Each alert has a severity, a runbook to which it leads, and a test over six hours.
func TestEachAlertHasARunbookAndATest(t *testing.T) {
	t.Parallel()
	var all alertRules
	require.NoError(t, yaml.Unmarshal(read(t, "prometheus/alerts.yml"), &all))
	runbook, tests := string(read(t, "../docs/repair.md")), string(read(t, "prometheus/tests/six_hours.yml"))
	alerts := 0
	for _, group := range all.Groups {
		for _, rule := range group.Rules {
			alerts++
			_, section, _ := strings.Cut(runbook, "\n### "+rule.Alert+"\n\n")
			severity, _, _ := strings.Cut(section, ". ")
			require.Equal(t, rule.Labels.Severity, strings.ToLower(severity), "the runbook of %s begins with its severity",
				rule.Alert)
			require.Equal(t, repairPage+"#"+strings.ToLower(rule.Alert), rule.Annotations["runbook_url"])
			require.NotEmpty(t, rule.Annotations["summary"])
			require.Contains(t, tests, `alertname="`+rule.Alert+`"`, "no test over six hours")
		}
	}
	require.Greater(t, alerts, 20)
}

// The Alertmanager of docker-compose.yml is the one that Prometheus sends alerts to, and each route leads to a receiver.
func TestAlertsReachAReceiver(t *testing.T) {
	t.Parallel()
	type route struct {
		Receiver string
		Routes   []route
	}
	var manager struct {
		Route     route
		Receivers []struct {
			Name     string
			Webhooks []struct {
				File string `yaml:"url_file"`
			} `yaml:"webhook_configs"`
		}
	}
	require.NoError(t, yaml.Unmarshal(read(t, "alertmanager/alertmanager.yml"), &manager))
	service := compose(t, serviceFile).Services["alertmanager"]
	receivers := map[string]bool{}
	for _, receiver := range manager.Receivers {
		require.NotEmpty(t, receiver.Webhooks, receiver.Name)
		receivers[receiver.Name] = true
		for _, webhook := range receiver.Webhooks {
			require.Contains(t, strings.Join(service.Command, " "), `"$$HIREGATE_ALERT_URL" > `+webhook.File)
		}
	}
	for _, r := range append(manager.Route.Routes, manager.Route) {
		require.True(t, receivers[r.Receiver], r.Receiver)
	}
	require.Contains(t, service.Volumes, "./deploy/alertmanager:/etc/alertmanager:ro")
	require.Contains(t, string(read(t, "prometheus/prometheus.yml")), `targets: ["alertmanager:9093"]`)
}
