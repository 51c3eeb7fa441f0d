package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// completionPatience limits the time for which a shell waits for the gateway.
const completionPatience = 2 * time.Second

// mostCompletions limits the names that are offered.
const mostCompletions = 200

// completed are the kinds of things whose names a shell completes.
var completed = []*kind{&tenants.kind, &integrations.kind, &exports.kind, &redeliveries.kind, &candidates.kind, &jobs.kind,
	&applications.kind, &steps.kind, &apiUsers.kind, &subscriptions.kind, &users.kind, &oauthClients.kind, &apiKeys.kind}

// ofTenant has the kinds of which flags, or an argument that is not the first one, name one within a tenant.
var ofTenant = map[string]*kind{"integration": &integrations.kind, "helper": &integrations.kind,
	"candidate": &candidates.kind, "application": &applications.kind, "job": &jobs.kind, "step": &steps.kind,
	"redelivery": &redeliveries.kind}

// complete proposes arguments for the place of the cursor, by the word of the usage at that place.
func (a *Client) complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	usage, _, _ := strings.Cut(cmd.Use, " |") // what follows is the other way to use it
	words := strings.Fields(usage)[1:]
	if len(words) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	n := min(len(args), len(words)-1)
	if len(args) > n && !strings.HasSuffix(words[n], "…") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	word := strings.Trim(words[n], "[]()…")
	if word == "FILE" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	if k := ofTenant[strings.ToLower(word)]; k != nil {
		return a.proposeOf(cmd, k, typed)
	}
	for _, k := range completed {
		if k.arg != word && !strings.HasPrefix(k.arg, word+"|") {
			continue
		}
		if f := cmd.Flags().Lookup("tenant"); f != nil && f.Value.String() != "" && k.inTenant() {
			return a.proposeOf(cmd, k, typed)
		}
		return a.propose(cmd, k, typed)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// propose proposes names of a kind: a tenant first, then what that has.
func (a *Client) propose(cmd *cobra.Command, k *kind, typed string) ([]string, cobra.ShellCompDirective) {
	if a.choose(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if !k.inTenant() {
		return a.names(cmd, k, k.at, "", typed, ""), cobra.ShellCompDirectiveNoFileComp
	}
	tenant, _, found := strings.Cut(typed, "/")
	if !found {
		return a.names(cmd, &tenants.kind, tenants.at, "", typed, "/"),
			cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	return a.names(cmd, k, tenantPath(tenant, k.at), tenant+"/", typed, ""), cobra.ShellCompDirectiveNoFileComp
}

// names reads those of a list that begin with what was typed. Without an answer there are none: a shell has no place
// for errors.
func (a *Client) names(cmd *cobra.Command, k *kind, list, prefix, typed, suffix string) (names []string) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	a.Named = true // nothing but names may be printed
	query := url.Values{"limit": {"500"}}
	for {
		page, err := a.page(ctx, http.MethodGet, list, query, nil)
		if err != nil {
			return names
		}
		for _, raw := range page.Items {
			var item map[string]json.RawMessage
			var name string
			if json.Unmarshal(raw, &item) != nil || json.Unmarshal(item[cmp.Or(k.id, "id")], &name) != nil {
				continue
			}
			whole := prefix + name + suffix
			if strings.HasPrefix(whole, typed) && terminal.Printable(name) == name && !slices.Contains(names, whole) {
				names = append(names, whole)
			}
		}
		if page.Next == nil || len(names) >= mostCompletions {
			return names
		}
		query.Set("cursor", *page.Next)
	}
}

// words are the values of flags that are one of a few words, by the name of the flag, or by the command and that where
// commands differ.
var words = map[string][]string{
	"outcome":           {"retrying", "held", "delivered", "failed", "expired"},
	"redeliver outcome": {"delivered", "failed", "expired"},
	"class":             textsOf(model.Faults),
	"order":             {"oldest", "changed"},
	"state":             {"open", "closed", "unentered", "ended", "hired", "rejected", "withdrawn"},
	"submission state":  textsOf(model.SubmissionStates),
	"mode":              {"failed", "missing", "all"},
	"role":              {"viewer", "operator", "compliance", "admin"},
	"documents":         {"rehost", "passthrough", "inline"},
	"invalid":           {"refuse", "quarantine"},
	"deviations":        {"accept", "refuse", "quarantine"},
	"algorithm":         {"RS256", "ES256"},
	"format":            {"json", "csv"},
	"action": {"add", "cancel", "choose", "disable", "download", "dump", "enable", "end", "erase", "export", "fetch", "import",
		"open-portal", "pause",
		"recover", "redeliver", "release", "remove", "reopen", "require-totp", "reset", "resolve", "resume", "retry", "set", "show-answers",
		"show-body", "take-out"},
}

func textsOf[T ~string](all []T) []string {
	words := make([]string, len(all))
	for n, one := range all {
		words[n] = string(one)
	}
	return words
}

// completeFlags registers the completion of each flag: the words of a set, names that the gateway lists, or nothing.
func (a *Client) completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		var complete cobra.CompletionFunc
		set, ok := words[cmd.Name()+" "+f.Name]
		if !ok {
			set, ok = words[f.Name]
		}
		switch k := ofTenant[f.Name]; {
		case ok:
			complete = cobra.FixedCompletions(set, cobra.ShellCompDirectiveNoFileComp)
		case f.Name == "tenant":
			complete = func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return a.propose(cmd, &tenants.kind, typed)
			}
		case k != nil:
			complete = func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return a.proposeOf(cmd, k, typed)
			}
		case strings.HasSuffix(f.Name, "-file"), f.Name == "output", f.Value.Type() == "bool":
			return // files and folders are what a shell completes by itself
		default:
			complete = cobra.NoFileCompletions
		}
		// It fails only where the flag has a completion already.
		_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
	})
}

// proposeOf proposes what the tenant has that the flag --tenant or the first argument names.
func (a *Client) proposeOf(cmd *cobra.Command, k *kind, typed string) ([]string, cobra.ShellCompDirective) {
	tenant := ""
	if f := cmd.Flags().Lookup("tenant"); f != nil {
		tenant = f.Value.String()
	}
	if args := cmd.Flags().Args(); tenant == "" && len(args) > 0 {
		tenant, _, _ = strings.Cut(args[0], "/")
	}
	if tenant == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := a.propose(cmd, k, tenant+"/"+typed)
	for i := range all {
		all[i] = strings.TrimPrefix(all[i], tenant+"/")
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}
