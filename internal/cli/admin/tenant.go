package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Tenant returns the command `hiregate tenant`.
func Tenant() *cobra.Command {
	return group(&cobra.Command{
		Use:   "tenant",
		Short: "Lists, shows, sets and removes tenants",
		Long: `Lists and shows the tenants of a running gateway, and makes, changes and removes those that are
kept in its database. Tenants of the Caddyfile are changed there.`,
		Example: `  hiregate tenant list
  hiregate tenant set initech --name "Initech" --secret-file initech.secret
  hiregate tenant remove initech`,
	}, tenants.list, tenantShow, tenantSet, tenantRemove, tenantAddSecret, tenantEndSecret, tenantRelay, tenantPortal)
}

// shownTenant is a tenant with the signatures of its requests and what was remarkable about them, which have addresses
// of their own.
type shownTenant struct {
	api.Tenant
	signatures *api.Signatures // nil: in a list
	received   api.ReceivedCounts
}

var tenants = noun[shownTenant]{
	kind:     kind{command: "tenant", at: "/v1/tenants", arg: "TENANT", example: "initech", valid: model.ValidateTenantName},
	listHelp: help{short: "Lists the tenants"},
	columns:  []string{"tenant", "name", "kept in", "secrets", "invalid exports", "labels", "updated"},
	filters:  []filter{labelFilter},
	fields: func(t *shownTenant) []field {
		keptIn := "database"
		if t.Declared {
			keptIn = "Caddyfile"
		}
		fields := []field{
			{"tenant", t.ID},
			{"name", t.Name},
			{"kept in", keptIn},
			{"secrets", inList{t.Secrets}},
			{"invalid exports", t.Invalid},
			{"deviations", t.Deviations},
			{"zone", t.Zone},
			{"labels", strings.Join(model.Labels(t.Labels).Words(), " ")},
			{"applications kept", daysOf(t.KeepApplications)},
			{"rate", rateOf(t.Rate)},
			{"integrations", strings.Join(t.Integrations, ", ")},
			{"updated", t.UpdatedAt},
		}
		if t.signatures != nil {
			fields = slices.Insert(fields, len(fields)-1, slices.Concat(signatureFields(t.signatures),
				verifiedFields(t.received.Verified), remarkFields(t.received.Remarks))...)
		}
		return fields
	},
}

// signatureFields says when the secrets of a tenant were last used.
func signatureFields(s *api.Signatures) (all []field) {
	for _, secret := range s.Secrets {
		var used any = "never"
		if !secret.LastUsedAt.IsZero() {
			used = secret.LastUsedAt
		}
		all = append(all, field{fmt.Sprintf("secret %d last used", secret.Number), used})
		all = append(all, ifSet(fmt.Sprintf("secret %d ends", secret.Number), secret.EndsAt)...)
	}
	return append(all, field{"wrong signatures", s.Refused.Count}, field{"the last one", s.Refused.LastAt})
}

// verifiedFields says when the service sent its verification event last.
func verifiedFields(v *api.Verified) []field {
	var last any = "never"
	if v != nil {
		last = v.Last
	}
	return []field{{"verified by its service", last}}
}

// remarkFields says which exports were refused or had deviations.
func remarkFields(all []api.Remark) (fields []field) {
	for _, m := range all {
		what := "deviation"
		if m.Kind == model.ExportRefused {
			what = "refused: " + m.Name
		}
		fields = append(fields, field{what, remarkLine(&m)})
	}
	return fields
}

func tenantShow(a *Client) *cobra.Command {
	return tenants.verb(a, &cobra.Command{
		Use:   "show",
		Short: "Shows a tenant, and when its inbound secrets were last used",
		Long: `Shows a tenant, when each of its inbound secrets was last used, and how many requests were signed with none
of them, which exports were refused although they were signed right, and which deviations others had.
Uses are stored once a minute. A rotation can end when the old secret is used no more.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		var rawTenant, rawSignatures, rawReceived json.RawMessage
		if err := a.Call(ctx, http.MethodGet, path, nil, &rawTenant); err != nil {
			return err
		}
		if err := a.Call(ctx, http.MethodGet, path+"/signatures", nil, &rawSignatures); err != nil {
			return err
		}
		if err := a.Call(ctx, http.MethodGet, path+"/received", nil, &rawReceived); err != nil {
			return err
		}
		all, shown := map[string]json.RawMessage{}, shownTenant{signatures: new(api.Signatures)}
		if json.Unmarshal(rawTenant, &all) != nil || json.Unmarshal(rawTenant, &shown.Tenant) != nil ||
			json.Unmarshal(rawSignatures, shown.signatures) != nil || json.Unmarshal(rawReceived, &shown.received) != nil {
			return a.elsewhere(strange)
		}
		if a.json {
			all["signatures"], all["received"] = rawSignatures, rawReceived
			return terminal.WriteJSON(cmd.OutOrStdout(), all)
		}
		return tenants.print(cmd.OutOrStdout(), &shown)
	})
}

var tenantSettings = settings[api.Tenant, api.TenantInput]{
	kept: func(t *api.Tenant) api.TenantInput {
		return api.TenantInput{Name: t.Name, Invalid: t.Invalid, Deviations: t.Deviations, Rate: t.Rate, Zone: t.Zone,
			Labels: t.Labels}
	},
	flags: []setting[api.TenantInput]{
		{"name", func(t *api.TenantInput) any { return &t.Name }, "name for people"},
		{"invalid", func(t *api.TenantInput) any { return &t.Invalid },
			"what becomes of exports that break the schema: refuse (default) or quarantine"},
		{"zone", func(t *api.TenantInput) any { return &t.Zone },
			"time zone in which the tenant's days begin, such as America/Los_Angeles (default: UTC)"},
		{"deviations", func(t *api.TenantInput) any { return &t.Deviations },
			"what becomes of exports with listed deviations from the schema only: accept (default), refuse or quarantine"},
		{"label", func(t *api.TenantInput) any { return &t.Labels },
			"labels of the tenant, such as region=north,tier=gold; empty: none"},
		{"restore", func(t *api.TenantInput) any { return &t.Restore },
			"bring a removed tenant back, with what is kept of it"},
	},
}

func tenantSet(a *Client) *cobra.Command {
	var in api.TenantInput
	var files []string
	var none bool
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "set",
		Short: "Makes a tenant, or changes it",
		Long: `Makes a tenant in the gateway's database, or changes what the flags name of one; all else of it
stays. Its inbound signing secrets are read from files that have nothing else in them, so that no
list of processes shows them; "-" reads one from standard input. They replace those it has: name two during a rotation. Without a secret the tenant receives no exports; it can still
send them. A name under which something of a removed tenant is kept is refused: choose another, or
bring that tenant back with --restore.`,
		Example: `  hiregate tenant set initech --name "Initech" --secret-file initech.secret
  hiregate tenant set initech --secret-file initech.secret --secret-file initech-next.secret
  hiregate tenant set initech --invalid quarantine`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if none && len(files) > 0 {
			return errBothWays("secret-file", "no-secret")
		}
		secrets, err := readSecrets(cmd.InOrStdin(), files)
		if err != nil {
			return err
		}
		unchanged, _, err := tenantSettings.keep(ctx, a, cmd, path, &in)
		if err != nil {
			return err
		}
		if none || len(files) > 0 { // else those stay that there are
			in.Secrets = &secrets
		}
		var after api.Tenant
		if shown, err := a.askWith(ctx, cmd, http.MethodPut, path, unchanged, in, &after); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is set, with %d secrets\n", args[0], after.Secrets)
		return nil
	})
	tenantSettings.add(cmd.Flags(), &in)
	cmd.Flags().StringArrayVar(&files, "secret-file", nil, "file with an inbound signing secret; repeat it for a second one")
	cmd.Flags().BoolVar(&none, "no-secret", false, "remove the secrets it has: it receives no exports any more")
	return cmd
}

func tenantRemove(a *Client) *cobra.Command {
	var ask func(context.Context, *cobra.Command, string) error
	var force bool
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "remove",
		Short: "Removes a tenant; what it had stays",
		Long: `Removes a tenant that has no integration any more, with its users of the Apply API, and revokes
its API keys. Its exports, candidates, jobs and applications stay, and the answer says so. No
other tenant gets its name meanwhile; "tenant set --restore" brings it back. Where applications to
it are not at its service, it is removed with --force only.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if err := ask(ctx, cmd, args[0]); err != nil {
			return err
		}
		if force {
			path += "?force=true"
		}
		var removal api.TenantRemoval
		if shown, err := a.ask(ctx, cmd, http.MethodDelete, path, nil, &removal); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "tenant %s is removed\n", args[0])
		if len(removal.Kept) > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "kept under its name, which no other tenant gets: %s\n",
				strings.Join(removal.Kept, ", "))
		}
		return nil
	})
	cmd.Flags().BoolVar(&force, "force", false, "also where applications to it are not at its service: those that wait are not sent")
	ask = a.asking(cmd)
	return cmd
}

func tenantPortal(a *Client) *cobra.Command {
	var in api.PortalInput
	cmd := tenants.verb(a, &cobra.Command{
		Use:   "portal",
		Short: "Makes a link with which a client sees its exports in the console",
		Long: `Makes a link to the console that works for an hour. Whoever has it sees the exports and the
integrations of the tenant and may redeliver its exports, without signing in. "hiregate portal" lists
the links that are valid, and revokes them.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		var made api.Portal
		if shown, err := a.ask(ctx, cmd, http.MethodPost, path+"/portal", in, &made); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\nIt works until %s.\n", made.URL,
			made.ExpiresAt.UTC().Format("2006-01-02 15:04 UTC"))
		return nil
	})
	cmd.Flags().StringVar(&in.Label, "label", "", "who gets it, for people")
	cmd.Flags().BoolVar(&in.Bodies, "bodies", false, "the bodies of exports, which are personal data, may be seen as well")
	return cmd
}
