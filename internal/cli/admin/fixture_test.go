package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/clitest"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/gateway/gatewaytest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// commands are those that ask the management API.
var commands = []func() *cobra.Command{admin.Export, admin.Redelivery, admin.Integration, admin.Tenant, admin.APIKey,
	admin.Audit, admin.Candidate, admin.Application, admin.Document, admin.Job, admin.Step, admin.Compliance, admin.User,
	admin.Session, admin.OAuthClient, admin.APIUser, admin.Status}

// fixture is a gateway whose Temporal is away, and its management API.
type fixture struct {
	*gatewaytest.Fixture
	t       *testing.T
	address string // of the admin endpoint
	exports map[string]*model.Export
	status  int // with which partners answer
}

func setup(t *testing.T) *fixture {
	t.Helper()
	acme, globex := gatewaytest.Tenant("acme"), gatewaytest.Tenant("globex")
	acme.Integrations = []model.Integration{
		{Tenant: "acme", Name: "hris", URL: "https://hr.acme.example/x", Secret: "k", Options: model.Options{Documents: model.Rehost}, Verify: true},
		{Tenant: "acme", Name: "crm", URL: "https://crm.acme.example/x", Secret: "k", Options: model.Options{Documents: model.Passthrough}, Verify: true},
		{Tenant: "acme", Name: "own", URL: "https://own.acme.example/x", Secret: "k", Options: model.Options{Documents: model.Passthrough}},
	}
	globex.Integrations = []model.Integration{
		{Tenant: "globex", Name: "hris", URL: "https://hr.globex.example/x", Secret: "k", Options: model.Options{Documents: model.Rehost}, Verify: true},
	}
	b := &fixture{Fixture: gatewaytest.New(t, acme, globex, gatewaytest.Tenant("idle")), t: t,
		exports: map[string]*model.Export{}, status: http.StatusOK}
	b.address = b.serve("/hiregate", manageapi.New(b.current, b.Log))
	return b
}

func (b *fixture) current() *gateway.Gateway { return b.Gateway }

// serve serves the management API below a path, and returns the host and port.
func (b *fixture) serve(path string, api http.Handler) string {
	mux := http.NewServeMux()
	mux.Handle(path+"/", http.StripPrefix(path, api))
	server := httptest.NewServer(mux)
	b.t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// hiregate runs a command to its end, at the admin endpoint.
func (b *fixture) hiregate(args ...string) (out, hints string, err error) {
	b.t.Helper()
	for _, command := range commands {
		if cmd := command(); cmd.Name() == args[0] {
			return clitest.Run(b.t.Context(), cmd, append(args[1:], "--admin", b.address)...)
		}
	}
	return "", "", fmt.Errorf("no such command: %s", args[0])
}

// TestScripts runs the scripts of testdata. Beside the commands of testscript they have:
//
//   - hiregate ARGS…: a command, at the admin endpoint of a gateway of the script's own
//   - export TENANT/UUID [candidate=ID] [attachments=N] [at=MINUTES] [quarantined] [integrations=NAMES] [undispatched=NAME]:
//     puts an export into the store, received so many minutes after noon, and dispatched to some integrations
//   - delivery TENANT/UUID INTEGRATION OUTCOME [STATUS…]: puts a delivery into the store, with an attempt for each status
//   - configured TENANT/INTEGRATION: stores that it answered VERIFY
//   - partner NAME: starts a partner's server, whose URL is $NAME
//   - answers STATUS: the status with which partners answer from now on
//   - attempt OUTCOME STATUS: has the next export attempted
//   - api METHOD PATH BODY: makes a request to the management API
//   - stored TENANT[/INTEGRATION]: prints what the configuration has of it, with its secrets
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			b := setup(t)
			testscript.Run(t, testscript.Params{Files: []string{file}, Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"hiregate":   b.runCommand,
				"export":     b.putExport,
				"delivery":   b.putDelivery,
				"configured": b.configure,
				"partner":    b.startPartner,
				"answers":    func(_ *testscript.TestScript, _ bool, args []string) { b.status = number(args[0]) },
				"attempt": func(_ *testscript.TestScript, _ bool, args []string) {
					b.Answer(b.t, model.Outcome(args[0]), number(args[1]))
				},
				"api":    b.call,
				"stored": b.printStored,
			}})
		})
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func (b *fixture) runCommand(ts *testscript.TestScript, fails bool, args []string) {
	out, hints, err := b.hiregate(args...)
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), hints)
	switch {
	case err != nil && fails:
		fmt.Fprintf(ts.Stderr(), "Error: %v\n(exit code %d)\n", err, terminal.ExitCode(err))
	case err != nil:
		ts.Fatalf("%v", err)
	case fails:
		ts.Fatalf("it did not fail")
	}
}

func (b *fixture) putExport(_ *testscript.TestScript, _ bool, args []string) {
	tenant, uuid, _ := strings.Cut(args[0], "/")
	var integrations []string
	waiting := ""
	e := b.Export(b.t, tenant, uuid, func(e *model.Export) {
		for _, arg := range args[1:] {
			switch name, value, _ := strings.Cut(arg, "="); name {
			case "candidate":
				e.CandidateID = value
			case "attachments":
				e.Attachments = number(value)
			case "at":
				e.ReceivedAt = gatewaytest.Noon.Add(time.Duration(number(value)) * time.Minute)
				e.ID = model.FirstID(e.ReceivedAt)
			case "quarantined":
				e.Quarantined = true
			case "integrations":
				integrations = strings.Split(value, ",")
			case "undispatched":
				waiting = value
			}
		}
	})
	b.Write(b.t, func(tx *store.Tx) error {
		if waiting != "" {
			_, err := tx.BeginRound(e.ID, []string{waiting}, gatewaytest.Noon, gatewaytest.Noon)
			return err
		}
		return tx.MarkDispatched(e.ID, 0, gatewaytest.Noon, integrations...)
	})
	b.exports[args[0]] = e
}

func (b *fixture) putDelivery(_ *testscript.TestScript, _ bool, args []string) {
	var statuses []int
	for _, status := range args[3:] {
		statuses = append(statuses, number(status))
	}
	b.Delivery(b.t, b.exports[args[0]], args[1], model.Outcome(args[2]), statuses...)
}

func (b *fixture) configure(_ *testscript.TestScript, _ bool, args []string) {
	tenant, name, _ := strings.Cut(args[0], "/")
	b.Status(b.t, tenant, name, store.IntegrationStatus{State: model.Configured, Attempts: 1, UpdatedAt: gatewaytest.Noon})
}

func (b *fixture) startPartner(ts *testscript.TestScript, _ bool, args []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(b.status) }))
	b.t.Cleanup(server.Close)
	b.AllowLoopback(b.t)
	ts.Setenv(args[0], server.URL)
}

func (b *fixture) call(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check((&admin.Client{Address: b.address}).Call(b.t.Context(), args[0], args[1], json.RawMessage(args[2]), nil))
}

func (b *fixture) printStored(ts *testscript.TestScript, _ bool, args []string) {
	tenant, name, _ := strings.Cut(args[0], "/")
	if name != "" {
		i, _ := b.Config.Integration(tenant, name)
		fmt.Fprintln(ts.Stdout(), i.URL, i.Secret.Reveal(), i.FormerSecret.Reveal(), i.Documents, i.InFlight, i.Retry)
		return
	}
	t, _ := b.Config.Tenant(tenant)
	var secrets []string
	for _, s := range t.Secrets {
		secrets = append(secrets, s.Reveal())
	}
	fmt.Fprintf(ts.Stdout(), "%q %v/%d %v %s\n", t.Title, t.Rate.PerSecond, t.Rate.Burst, t.Quarantine,
		strings.Join(secrets, " "))
}
