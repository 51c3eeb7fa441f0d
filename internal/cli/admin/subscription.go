package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Subscription returns the command `hiregate subscription`.
func Subscription() *cobra.Command {
	return group(&cobra.Command{
		Use:   "subscription",
		Short: "Lists, shows, sets, disables, enables and removes who is sent what changes",
		Long: `Lists, shows, sets, disables, enables and removes the addresses of a service's own systems that are sent
what changes of a tenant's candidates, jobs and job applications.`,
		Example: `  openssl rand -base64 32 > secret
  hiregate subscription set initech/ats --url https://ats.example.com/events --secret-file secret
  hiregate subscription list initech
  hiregate event list initech`,
	}, subscriptions.list, subscriptions.show, subscriptionSet, subscriptionSwitch("disable", true),
		subscriptionSwitch("enable", false), subscriptions.remove)
}

// Event returns the command `hiregate event`.
func Event() *cobra.Command {
	return group(&cobra.Command{
		Use:   "event",
		Short: "Lists what changed of candidates, jobs and job applications",
		Long: `Lists what changed of a tenant's candidates, jobs and job applications, for 30 days: by ids only. There are
events from the first subscription of a tenant on.`,
		Example: `  hiregate event list initech`,
	}, changes.list)
}

var subscriptions = noun[api.EventSubscription]{
	kind: kind{command: "subscription", at: "event-subscriptions", arg: "TENANT/SUBSCRIPTION",
		example: "initech/ats"},
	listHelp:   help{short: "Lists the subscriptions of a tenant"},
	removeHelp: help{short: "Removes a subscription; what changed can still be listed"},
	columns:    []string{"subscription", "host", "events", "disabled"},
	fields: func(s *api.EventSubscription) []field {
		names := []string{"all"}
		if len(s.Events) > 0 {
			names = nil
		}
		for _, e := range s.Events {
			names = append(names, string(e))
		}
		disabled := yesOrNo(s.Disabled)
		if s.Reason != "" {
			disabled += ": " + s.Reason
		}
		return []field{{"subscription", s.ID}, {"tenant", s.Tenant}, {"host", s.Host}, {"events", strings.Join(names, ", ")},
			{"disabled", disabled}, {"failing since", s.FailingSince}, {"updated", s.UpdatedAt}}
	},
}

var changes = noun[api.Event]{
	kind:     kind{command: "event", at: "events", arg: "TENANT/EVENT", example: "initech"},
	listHelp: help{short: "Lists what changed, the oldest first"},
	columns:  []string{"at", "event", "of", "number", "from", "to"},
	fields: func(e *api.Event) []field {
		d := e.Data
		return []field{{"at", e.Timestamp}, {"event", string(e.Type)}, {"of", terminal.ID(d.Application + d.Candidate + d.Job)},
			{"number", d.Sequence}, {"from", d.From}, {"to", d.To}}
	},
}

func subscriptionSet(a *Client) *cobra.Command {
	var address, file string
	var names []string
	cmd := subscriptions.verb(a, &cobra.Command{
		Use:   "set",
		Short: "Makes a subscription, or changes one",
		Long: `Makes a subscription, which is sent what changes from now on, or changes one: what no flag says stays
as it is. An event has ids only, is signed as Standard Webhooks says, and is sent until it is answered
with 2xx, for 72 hours.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var in api.EventSubscriptionInput
		if address != "" {
			in.URL = &address
		}
		if file != "" {
			secret, err := terminal.ReadSecret(cmd.InOrStdin(), file)
			if err != nil {
				return err
			}
			in.Secret = &secret
		}
		if cmd.Flags().Changed("event") {
			events := []model.Change{}
			for _, name := range names {
				events = append(events, model.Change(name))
			}
			in.Events = &events
		}
		if in == (api.EventSubscriptionInput{}) {
			return errors.New("what to set? name an address with --url and a secret with --secret-file, or --event")
		}
		return putSubscription(ctx, a, cmd, path, args[0], in, "is set")
	})
	fl := cmd.Flags()
	fl.StringVar(&address, "url", "", "where the events go")
	fl.StringVar(&file, "secret-file", "", "`FILE` with the secret that signs them; - is standard input")
	fl.StringArrayVar(&names, "event", nil, "an event to send, such as application.received; repeat it for more (default: all)")
	return cmd
}

func subscriptionSwitch(verb string, disabled bool) func(*Client) *cobra.Command {
	return func(a *Client) *cobra.Command {
		cmd := &cobra.Command{Use: verb, Short: "Sends a subscription nothing until it is enabled"}
		if !disabled {
			cmd.Short = "Sends a subscription events again, those of the last 72 hours first"
		}
		return subscriptions.verb(a, cmd, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
			return putSubscription(ctx, a, cmd, path, args[0], api.EventSubscriptionInput{Disabled: &disabled}, "is "+verb+"d")
		})
	}
}

func putSubscription(ctx context.Context, a *Client, cmd *cobra.Command, path, name string, in api.EventSubscriptionInput,
	said string) error {
	var answer json.RawMessage
	if shown, err := a.ask(ctx, cmd, http.MethodPut, path, in, &answer); shown || err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(name), said)
	return err
}
