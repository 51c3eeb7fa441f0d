package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// maxResource is how many bytes a file has at most that is put as a resource; the management API takes less of most.
const maxResource = 4 << 20

// resource is something that each tenant has any number of, and that the management API takes as JSON.
type resource struct {
	word    string // for people, such as candidate
	path    string // below the tenant
	arg     string // what names one, in the usage
	example string // of such an argument
	json    string // an example of the JSON
}

// find is pathOf for commands that look for what is named in other ways.
func (k resource) find(_ context.Context, _ *Client, arg string) (path string, err error) {
	return k.pathOf(arg)
}

// pathOf gives the path of what TENANT/ID names. An id may have slashes in it.
func (k resource) pathOf(arg string) (path string, err error) {
	tenant, id, err := cutTenant(arg, fmt.Sprintf("whose %s is it? write it as %s, such as %s", k.word, k.arg, k.example))
	return tenantPath(tenant, k.path, id), err
}

// one takes a single such argument.
func (k resource) one(command, verb string) cobra.PositionalArgs {
	return terminal.Exactly(1, fmt.Sprintf("%[1]s %[2]s takes one %[3]s, such as: hiregate %[1]s %[2]s %[4]s", command,
		verb, k.word, k.example))
}

// shown is the command show: print shows to a person what was read.
func shown[T any](a *Client, command string, k resource, find find, print func(*cobra.Command, *T) error) *cobra.Command {
	return &cobra.Command{
		Use:   "show " + k.arg,
		Short: "Shows " + indefinite(k.word),
		Args:  k.one(command, "show"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := find(ctx, a, args[0])
			if err != nil {
				return err
			}
			v := new(T)
			if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, v); shown || err != nil {
				return err
			}
			return print(cmd, v)
		}),
	}
}

// setting is the command set: it puts the JSON of a file.
func (k resource) setting(a *Client, command string) *cobra.Command {
	return &cobra.Command{
		Use:   "set " + k.arg + " FILE",
		Short: "Makes " + indefinite(k.word) + ", or puts another in its place, as the JSON of a file says",
		Long: "Makes " + indefinite(k.word) + ", or puts another in its place. The file holds the JSON that the\n" +
			"management API takes and that " + command + " show --json prints; \"-\" reads standard input.\n" +
			"With a version in it, nothing is put if the stored " + k.word + " has changed since.",
		Example: fmt.Sprintf("  echo '%[3]s' | hiregate %[1]s set %[2]s -\n"+
			"  hiregate %[1]s show %[2]s --json > %[1]s.json\n  hiregate %[1]s set %[2]s %[1]s.json", command,
			k.example, k.json),
		Args: terminal.Exactly(2, fmt.Sprintf("%[1]s set takes %[2]s and a file with its JSON, such as: "+
			"hiregate %[1]s set %[3]s %[1]s.json", command, indefinite(k.word), k.example)),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path, err := k.pathOf(args[0])
			if err != nil {
				return err
			}
			raw, err := terminal.ReadInput(cmd.InOrStdin(), args[1], maxResource)
			if err != nil {
				return err
			}
			return a.put(ctx, cmd, path, args[0], raw)
		}),
	}
}

// put sends the JSON of a resource. Its version, which only answers have, becomes the condition that it is still stored.
func (a *Client) put(ctx context.Context, cmd *cobra.Command, path, name string, raw []byte) error {
	var in struct {
		Version int64 `json:"version"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return errors.New("the file is not a JSON object: the gateway's OpenAPI page describes it, and " +
			"show --json prints one")
	}
	header := http.Header{}
	if in.Version > 0 {
		var stored struct {
			Version int64 `json:"version"`
		}
		before, err := a.Send(ctx, http.MethodGet, path, nil, nil, &stored)
		if err != nil {
			return err
		}
		if stored.Version != in.Version {
			return fmt.Errorf("%s has changed since: the file has version %d, and version %d is stored; "+
				"get that with show --json, or remove the version from the file to replace it", terminal.Printable(name),
				in.Version, stored.Version)
		}
		header.Set("If-Match", before.Get("ETag"))
	}
	var answer json.RawMessage
	if _, err := a.Send(ctx, http.MethodPut, path, header, verbatim(raw), &answer); err != nil {
		return err
	}
	if a.json {
		return terminal.WriteJSON(cmd.OutOrStdout(), answer)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s is set\n", terminal.Printable(name))
	return nil
}

// removal is the command remove.
func (k resource) removal(a *Client, command, short string) *cobra.Command {
	return deletion(a, k.find, "is removed", &cobra.Command{
		Use:   "remove " + k.arg,
		Short: short,
		Args:  k.one(command, "remove"),
	})
}

// indefinite puts the article before a word.
func indefinite(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
