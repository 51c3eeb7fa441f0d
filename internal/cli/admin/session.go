package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Session returns the command `hiregate session`.
func Session() *cobra.Command {
	return group(&cobra.Command{
		Use:   "session",
		Short: "Lists and ends the sessions at applications behind signin_gate, and at the console",
		Long: `Lists and ends the sessions of the people who are signed in at applications behind the directive
signin_gate, or at the console. Those at sign-in itself: hiregate user end-sessions.`,
		Example: `  hiregate session list --person ada@example.com
  hiregate session end 5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592
  hiregate session end --person ada@example.com
  hiregate session end --site https://app.acme.example/oauth2`,
	}, sessions.list, sessionEnd)
}

var sessions = noun[api.Session]{
	kind: kind{command: "session", at: "/v1/sessions", arg: "ID",
		example: "5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592"},
	listHelp: help{"Lists who is signed in where, since when, and when they used it last",
		`Lists who is signed in where, since when, and when they used it last, to a quarter of an hour. A
person is shown by their id at the provider, and by their address where that is this gateway's
own sign-in.`},
	columns: []string{"id", "site", "provider", "person", "e-mail", "since", "last use"},
	filters: []filter{
		{flag: "site", help: "at this site, as the list shows it"},
		{flag: "provider", help: "of this provider"},
		{flag: "person", help: "of this person: the id at the provider, or the e-mail address of a user here"},
	},
	fields: func(s *api.Session) []field {
		return []field{
			{"id", s.ID},
			{"site", s.Site},
			{"provider", s.Provider},
			{"person", terminal.ID(s.Person)},
			{"e-mail", terminal.ID(s.Email)},
			{"since", s.CreatedAt},
			{"last use", s.UsedAt},
		}
	},
}

func sessionEnd(a *Client) *cobra.Command {
	var of api.SessionsToEnd
	cmd := &cobra.Command{
		Use:   "end [ID]",
		Short: "Ends a session, or all of a site, a provider or a person",
		Long: `Ends a session, or with flags all that are at a site, of a provider and of a person. It counts at
the next request. Whoever is still signed in at the provider may come back without a password: to
keep somebody out, disable them there.`,
		Args: func(_ *cobra.Command, args []string) error {
			if chosen := of != (api.SessionsToEnd{}); chosen == (len(args) > 0) || len(args) > 1 {
				return errors.New("name one session by its id, or those that are to end with --site, --provider and --person: " +
					"hiregate session list shows them")
			}
			return nil
		},
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				of.ID = args[0]
			}
			var res api.EndedSessions
			if shown, err := a.ask(ctx, cmd, http.MethodPost, "/v1/sessions/end", of, &res); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Sessions that were ended: %d\n", res.Ended)
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&of.Site, "site", "", "all at this site")
	fl.StringVar(&of.Provider, "provider", "", "all of this provider")
	fl.StringVar(&of.Person, "person", "", "all of this person: the id at the provider, or the e-mail address of a user here")
	return cmd
}
