package apply_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/check"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/model"
)

// The relay keeps what the contract demands of a partner's client: its service answers 500, 429, 401 and 400 before it
// accepts an application.
func TestTheRelayPassesTheCheckOfAPartnersClient(t *testing.T) {
	t.Parallel()
	r := setupRelaying(t)
	var out, hints clitest.Buffer
	cmd, ended := check.Command(), make(chan error, 1)
	cmd.SetOut(&out)
	cmd.SetErr(&hints)
	cmd.SetArgs([]string{"partner", "--listen", "127.0.0.1:0", "--format", "json"})
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	told := regexp.MustCompile(`Apply at (\S+) as (\S+) with the password (\S+) for the job (\S+)\.`)
	require.Eventually(t, func() bool { return told.MatchString(hints.String()) }, time.Minute, 10*time.Millisecond)
	use := told.FindStringSubmatch(hints.String())
	job := use[4]
	r.upstream(t, func(u *model.ApplyUpstream) { u.URL, u.User, u.Password = use[1], use[2], model.Secret(use[3]) })

	me := r.bearer(partner)
	var asked []model.Question
	w := r.ask(http.MethodGet, "/v2/job/"+job+"/question", "", me...)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &asked), "%s", w.Body)
	var answers []answered
	why := ""
	for _, q := range asked {
		value := map[model.Format]string{model.Text: "Ada", model.Phone: "+1 555 0100 199", model.Date: "2026-12-01", model.Number: "7",
			model.Textarea: "I like it", model.File: base64.StdEncoding.EncodeToString(sample(t, "resume.pdf")),
			model.Checkbox: model.JoinOptions(q.Options), model.Select: strings.Join(q.Options[:min(1, len(q.Options))], "")}[q.Format]
		switch {
		case q.ID == "email":
			value = "ada@example.com"
		case q.Format == model.Textarea:
			why = q.ID
		}
		answers = append(answers, answered{q.ID, value})
	}
	r.requireTaken(r.apply(application(t, job, answers), me...))
	s := r.submissions(t)[0]
	for s.State == model.SubmissionWaiting {
		<-time.After(2100 * time.Millisecond) // the command has its own clock: it fails, and then asks to be left alone, for two seconds
		r.Clock.Advance(time.Minute)
		s = r.attempt(t, s.ID)
	}
	require.Equal(t, model.SubmissionRefused, s.State, s.Reason)
	r.requireTaken(r.apply(application(t, job, with(answers, why, "I like it very much")), me...))
	require.NoError(t, <-ended, out.String())
	require.Equal(t, 18, strings.Count(out.String(), `"verdict":"passed"`), out.String())
}
