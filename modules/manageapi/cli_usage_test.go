package manageapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const (
	one = "6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11"
	two = "6f1c0f1e-aaaa-4a57-9f0b-0c6f3f2b7a12"
)

// An export is found by its UUID alone, or the begin of it, in all tenants that the caller sees.
func TestExportsAreFoundWithoutTheirTenant(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, b *fixture) {
		b.export("acme", one)
		b.export("globex", two)
		b.export("globex", one[:9]+"x")
		for _, named := range []string{one, one[:13], "acme/" + one, "acme/" + one[:8]} {
			out, _, err := b.cli("export", "show", named)
			require.NoError(t, err, named)
			require.Regexp(t, "^uuid +"+one+"\n", out, named)
		}
		out, _, err := b.cli("export", "show", one[:8], "--tenant", "acme")
		require.NoError(t, err)
		require.Contains(t, out, one)
		_, _, err = b.cli("export", "show", one[:8])
		require.EqualError(t, err, "several exports have a UUID that begins with 6f1c0f1e: name one of them\n"+
			"  acme/"+one+"\n  globex/"+two+"\n  globex/6f1c0f1e-x")
		require.Equal(t, terminal.ExitFailed, terminal.ExitCode(err))
		_, _, err = b.cli("export", "show", "6f1c0f1f")
		require.ErrorContains(t, err, "there is no export whose UUID begins with 6f1c0f1f")
		_, _, err = b.cli("export", "show", "6f1c")
		require.Equal(t, terminal.ExitUsage, terminal.ExitCode(err))
		_, _, err = b.cli("export", "erase", one, "--yes")
		require.ErrorContains(t, err, "whose export is it?", "what is erased is named whole")

		out, _, err = b.cli("export", "list", "--uuid", two[:8], "--tenant", "globex")
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(out, "globex/"), out)
		require.Contains(t, b.problem(http.MethodGet, "/v1/exports?uuid=6f1c", "", http.StatusBadRequest), "8 characters")
		require.Contains(t, b.problem(http.MethodGet, "/v1/exports?uuid="+one+"&outcome=failed", "", http.StatusBadRequest),
			"leave out outcome")

		keyed := b.keyed()
		k := keyed.as(keyed.key("k-1", "globex", model.Viewer))
		require.ElementsMatch(t, []string{two, "6f1c0f1e-x"}, ids(k, "/v1/exports?uuid=6f1c0f1e"))
	})
}

// The tenant may stand in the argument, in --tenant, or in both if they agree.
func TestTheTenantByFlagOrArgument(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.people()
	b.export("acme", "u-1")
	for _, args := range [][]string{
		{"integration", "show", "acme/hris"}, {"integration", "show", "hris", "--tenant", "acme"},
		{"integration", "show", "acme/hris", "--tenant", "acme"},
		{"integration", "list", "acme"}, {"integration", "list", "--tenant", "acme"},
		{"integration", "list", "acme", "--tenant", "acme"},
		{"export", "list", "acme"}, {"export", "list", "--tenant", "acme"}, {"export", "show", "u-1", "--tenant", "acme"},
		{"audit", "list", "acme"}, {"audit", "list", "--tenant", "acme"}, {"tenant", "show", "--tenant", "acme"},
		{"candidate", "show", "c-1", "--tenant", "acme"}, {"candidate", "list", "--tenant", "acme"},
		{"redelivery", "list", "--tenant", "acme"}, {"step", "list", "--tenant", "acme"},
		{"application", "enter", "a-1", "applied", "--tenant", "acme"},
		{"export", "redeliver", "u-1", "--tenant", "acme", "--wait", "0s"},
		{"export", "erase", "u-1", "--tenant", "acme", "--yes", "--cancel"},
	} {
		_, _, err := b.cli(args...)
		require.NoError(t, err, "%v", args)
	}
	for _, args := range [][]string{
		{"integration", "show", "globex/hris", "--tenant", "acme"}, {"integration", "list", "globex", "--tenant", "acme"},
		{"export", "list", "globex", "--tenant", "acme"}, {"export", "erase", "acme/u-1", "globex/u-1", "--tenant", "acme"},
	} {
		_, _, err := b.cli(args...)
		require.ErrorContains(t, err, "name two tenants", "%v", args)
	}
}

// A single redelivery that is not received fails, as one of a range does.
func TestARedeliveryThatFailsExitsWithOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := b.export("acme", "u-1")
	b.delivery(e, "hris", model.Failed, 500)
	go func() { // what the workflow of the round would do
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for t.Context().Err() == nil {
			<-tick.C
			all, err := b.Runtime.Store().ListDeliveries(t.Context(), e.ID)
			if err != nil || len(all) < 2 {
				continue
			}
			d := all[1]
			d.Outcome, d.Fault, d.Reason, d.Attempts = model.Failed, model.ClassPartnerFault, "answered 503", 1
			b.Write(t, func(tx *store.Tx) error {
				if err := tx.MarkDispatched(e.ID, 1, b.Clock.Now(), "hris"); err != nil {
					return err
				}
				return tx.UpsertDelivery(d)
			})
			return
		}
	}()
	_, _, err := b.cli("export", "redeliver", "acme/u-1", "--integration", "hris", "--wait", "1m")
	require.EqualError(t, err, "hris did not receive it: answered 503")
	require.Equal(t, terminal.ExitFailed, terminal.ExitCode(err))
}

// An answer is printed as it came: what the gateway has escaped is not escaped again.
func TestAnswersArePrintedAsTheyCame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.cli("api-key", "set", "a\tb", "--role", "root")
	require.ErrorContains(t, err, b.problem(http.MethodPost, "/v1/api-keys", `{"label":"a\tb","role":"root"}`,
		http.StatusUnprocessableEntity))
	require.Equal(t, `say "hi" \u202e`, terminal.Printable("say \"hi\" \u202e"))
}

// Each flag of each command is completed by what it can be, or known to be free text, a number, or a file.
func TestFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	free := strings.Fields("file-name admin gateway since until limit object uuid label name reason url retry in-flight status rate wait " +
		"id description given-name family-name redirect-uri post-logout-redirect-uri category position title type")
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "bool" || strings.HasSuffix(f.Name, "-file") || f.Name == "help" {
				return
			}
			complete, ok := cmd.GetFlagCompletionFunc(f.Name)
			require.True(t, ok, "%s --%s", cmd.CommandPath(), f.Name)
			for _, word := range free {
				if word == f.Name {
					return
				}
			}
			switch f.Name {
			case "tenant", "integration", "helper", "candidate", "application", "job", "step":
				return // asked of the gateway: see TestCompletion
			}
			offered, _ := complete(cmd, nil, "")
			require.NotEmpty(t, offered, "%s --%s", cmd.CommandPath(), f.Name)
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	for _, command := range []func() *cobra.Command{admin.Export, admin.Integration, admin.Candidate, admin.Tenant, admin.APIKey,
		admin.Audit, admin.Redelivery, admin.Application, admin.Document, admin.Step, admin.Job, admin.Compliance, admin.User,
		admin.OAuthClient, admin.APIUser} {
		visit(command())
	}
}
