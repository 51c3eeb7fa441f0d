package console

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// Others returns how many integrations a need concerns beside the one that it names.
func (view) Others(n model.Need) int {
	if n.Cause == nil {
		return 0
	}
	return len(n.Cause.Integrations) - 1 + n.Cause.More
}

// IntegrationPath returns the address of an integration that is written as acme/hris.
func (p view) IntegrationPath(place string) template.URL {
	tenant, name, _ := strings.Cut(place, "/")
	return p.Path("tenants", tenant, "integrations", name)
}

// Tried says what came of trying again.
func (p view) Tried(t *model.CauseTry) (string, error) {
	s := speaker{view: p}
	key := "TryEnded"
	if t.Running > 0 {
		key = "TryRuns"
	}
	return s.say(key, "at", p.clock(t.At), "received", p.Num(t.Received), "failed", p.Num(t.Failed), "n", p.Num(t.Running)), s.err
}

// Helping says what helps against a cause.
func (p view) Helping(c *model.NeedCause) (string, error) {
	if c.Helps == model.HelpsRetry && len(c.Integrations) > 1 {
		return p.T("Helps_retryEach")
	}
	return p.T("Helps_" + string(c.Helps))
}

// retryCause has the oldest export tried at each integration of a cause, and the others once it is received.
func retryCause(v *visitor) error {
	var in api.CauseRetryInput
	if until := v.PostFormValue("until"); until != "" {
		var err error
		if in.Until, err = time.Parse(time.RFC3339Nano, until); err != nil {
			return errUnreadable
		}
	}
	if err := v.post(at("causes", v.PathValue("cause"), "retry"), in, nil); err != nil {
		return err
	}
	return v.redirect("/?done=retry")
}

// acknowledgeCause has a cause counted no more for some hours.
func acknowledgeCause(v *visitor) error {
	hours, err := strconv.Atoi(v.PostFormValue("hours"))
	if err != nil || hours < 1 {
		return errUnreadable
	}
	in := api.AcknowledgeInput{Note: v.PostFormValue("note"), Until: v.console.Gateway.Now().Add(time.Duration(hours) * time.Hour)}
	if err := v.call(http.MethodPut, at("causes", v.PathValue("cause"), "acknowledgement"), nil, in, nil); err != nil {
		return err
	}
	return v.redirect("/?done=acknowledge")
}

// countCause has an acknowledged cause counted again.
func countCause(v *visitor) error {
	if err := v.call(http.MethodDelete, at("causes", v.PathValue("cause"), "acknowledgement"), nil, nil, nil); err != nil {
		return err
	}
	return v.redirect("/?done=count")
}
