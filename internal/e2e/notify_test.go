package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A partner fails and recovers, and an operator disables it. The receiver of notifications, a process that shares no
// code with the gateway, hears of each in order and once, although both are killed in between.
func TestNotificationsSurviveKills(t *testing.T) {
	t.Parallel()
	const secret = "notify-secret"
	port := freePorts(t, 1)[0]
	s := newSystemWith(t, setup{tenant: shortRetries,
		options: fmt.Sprintf("notify http://127.0.0.1:%d/hiregate {\nsecret %s\n}", port, secret)})
	var up atomic.Bool
	s.startRecorder(func(event string, _ int) int {
		if event == "VERIFY" || up.Load() {
			return http.StatusOK
		}
		return http.StatusServiceUnavailable
	})
	receivers := []*process{}
	receive := func(refused int) {
		p := start(t, nil, "node", "testdata/receiver.mjs", fmt.Sprint(port), secret, fmt.Sprint(refused))
		p.line("^listening")
		receivers = append(receivers, p)
	}
	heard := func(event string) { receivers[len(receivers)-1].line(`"type":"` + event + `"`) }
	killed := func(event string) {
		s.gateway.line("a notification was not received.*" + event)
		s.gateway.kill()
		s.startGateway()
	}

	s.gateway.line("integration configured")
	ids := []string{s.accepted(minimal("c-1")), s.accepted(minimal("c-2"))}
	killed("integration.failing") // before anybody listens
	receive(1)
	receivers[0].line("^refused")
	heard("integration.failing")
	receivers[0].kill()

	up.Store(true)
	for _, id := range ids {
		s.awaitOutcome(id, "delivered")
	}
	killed("integration.recovered")
	receive(0)
	heard("integration.recovered")
	s.cli("integration", "disable", "acme/hris")
	heard("integration.disabled")
	s.awaitMetric("hiregate_notifications_waiting", "", 0)
	s.awaitMetric("hiregate_notifications_total", `event="integration.disabled",result="sent"`, 1)

	all := receivers[0].out.String() + receivers[1].out.String()
	require.NotContains(t, all, "wrong signature")
	var types []string
	messages := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^\{.*$`).FindAllString(all, -1) {
		var m struct {
			ID   string         `json:"id"`
			Type string         `json:"type"`
			Data map[string]any `json:"data"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		require.Equal(t, "acme", m.Data["tenant"])
		require.Equal(t, "hris", m.Data["integration"])
		if _, repeated := messages[m.ID]; !repeated { // a kill between the answer and its record sends it again
			types = append(types, m.Type)
		}
		messages[m.ID] = m.Type
	}
	require.Equal(t, []string{"integration.failing", "integration.recovered", "integration.disabled"}, types,
		strings.TrimSpace(all))
}
