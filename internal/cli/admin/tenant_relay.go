package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

func tenantRelay(a *Client) *cobra.Command {
	var in api.ApplyUpstreamInput
	var file, rate string
	var wait, tryFor, keep int
	var remove, test bool
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "relay",
		Short: "Shows, sets and removes the service that a tenant's applications are relayed to",
		Long: `Shows the service that a tenant's applications are relayed to. With flags it sets what they name, and all
else stays: the service must let the user sign in, or nothing changes. The password is read from a file
that has nothing else in it; "-" is standard input. --test has the service let the user sign in, and changes
nothing. --remove ends it; what waits then is sent once the applications are relayed again, or fails.`,
		Example: `  hiregate tenant relay initech
  hiregate tenant relay initech --url https://service.example.com/apply --user partner@initech.example --password-file -
  hiregate tenant relay initech --keep-days 30
  hiregate tenant relay initech --test
  hiregate tenant relay initech --remove`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		path += "/apply-upstream"
		changed := cmd.Flags().Changed
		var set []string
		for _, name := range []string{"url", "user", "password-file", "source", "wait-seconds", "try-for-hours", "keep-days", "rate", "feed"} {
			if changed(name) {
				set = append(set, name)
			}
		}
		switch {
		case remove && test:
			return errBothWays("remove", "test")
		case remove && len(set) > 0:
			return errBothWays("remove", set[0])
		case remove:
			if err := a.Call(ctx, http.MethodDelete, path, nil, nil); err != nil || a.json {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "the applications of tenant %s are relayed no more\n", args[0])
			return nil
		case test && len(set) == 0:
			return testUpstream(ctx, cmd, a, path, nil)
		}
		var before api.ApplyUpstream
		header, err := a.Send(ctx, http.MethodGet, path, nil, nil, &before)
		refused := new(Refusal)
		isNew := errors.As(err, &refused) && refused.Status == http.StatusNotFound
		switch {
		case err != nil && !(isNew && len(set) > 0):
			return err
		case len(set) == 0:
			return printUpstream(cmd, a, &before)
		}
		unchanged := http.Header{"If-None-Match": {"*"}}
		if !isNew {
			unchanged = http.Header{"If-Match": {header.Get("ETag")}}
			given := in
			in = api.ApplyUpstreamInput{URL: before.URL, User: before.User, Source: before.Source, Wait: &before.Wait,
				TryFor: &before.TryFor, Keep: &before.Keep, Rate: &before.Rate, Feed: before.Feed}
			for name, one := range map[string][2]*string{"url": {&in.URL, &given.URL}, "user": {&in.User, &given.User},
				"source": {&in.Source, &given.Source}, "feed": {&in.Feed, &given.Feed}} {
				if changed(name) {
					*one[0] = *one[1]
				}
			}
		}
		for name, one := range map[string]struct {
			to    **int
			given *int
		}{"wait-seconds": {&in.Wait, &wait}, "try-for-hours": {&in.TryFor, &tryFor}, "keep-days": {&in.Keep, &keep}} {
			if changed(name) {
				*one.to = one.given
			}
		}
		if changed("rate") {
			if in.Rate, err = model.ParseRate(strings.Fields(rate)); err != nil {
				return err
			}
		}
		if file != "" {
			secrets, err := readSecrets(cmd.InOrStdin(), []string{file})
			if err != nil {
				return err
			}
			in.Password = secrets[0]
		}
		if test {
			return testUpstream(ctx, cmd, a, path, in)
		}
		var after api.ApplyUpstream
		if shown, err := a.askWith(ctx, cmd, http.MethodPut, path, unchanged, in, &after); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "the applications of tenant %s are relayed to %s\n", args[0], terminal.Printable(after.URL))
		return nil
	})
	fl := cmd.Flags()
	fl.StringVar(&in.URL, "url", "", "address that v2/authentication is below, such as https://service.example.com/apply")
	fl.StringVar(&in.User, "user", "", "who applies at the service")
	fl.StringVar(&file, "password-file", "", "file with the user's password; - is standard input")
	fl.StringVar(&in.Source, "source", "", "the source of applications that name none")
	fl.IntVar(&wait, "wait-seconds", 0, "for how long a partner's site waits for the service's own answer (default of a new one: 5)")
	fl.IntVar(&tryFor, "try-for-hours", 0, "for how long an application is sent again (default of a new one: 168)")
	fl.IntVar(&keep, "keep-days", 0, "how long what an applicant sent is kept after its delivery (default of a new one: 7)")
	fl.StringVar(&rate, "rate", "", `what the service is sent at most (default of a new one: "5/s burst 10")`)
	fl.StringVar(&in.Feed, "feed", "", "address of the service's job feed, which has the jobs' titles; empty: none")
	fl.BoolVar(&test, "test", false, "only let the user sign in at the service")
	fl.BoolVar(&remove, "remove", false, "relay the applications no more")
	return cmd
}

// testUpstream has the user sign in: of in, or of what is set.
func testUpstream(ctx context.Context, cmd *cobra.Command, a *Client, path string, in any) error {
	var made api.ApplyUpstreamTest
	shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/test", in, &made)
	switch {
	case err != nil:
		return err
	case !made.SignedIn:
		return errors.New(terminal.Printable(made.Reason))
	case !shown:
		fmt.Fprintln(cmd.OutOrStdout(), "the service lets the user sign in")
	}
	return nil
}

func printUpstream(cmd *cobra.Command, a *Client, u *api.ApplyUpstream) error {
	if a.json {
		return terminal.WriteJSON(cmd.OutOrStdout(), u)
	}
	shown := noun[api.ApplyUpstream]{fields: func(u *api.ApplyUpstream) []field {
		return []field{{"url", u.URL}, {"user", u.User}, {"source", u.Source}, {"wait", fmt.Sprint(u.Wait, " seconds")},
			{"try for", fmt.Sprint(u.TryFor, " hours")}, {"keep", daysOf(u.Keep)}, {"rate", rateOf(&u.Rate)}, {"feed", u.Feed}}
	}}
	return shown.print(cmd.OutOrStdout(), u)
}
