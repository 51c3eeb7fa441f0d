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

// maxResource is the largest file that is put as a resource, in bytes; the management API takes less of most.
const maxResource = 4 << 20

// set is the command set of what is put as JSON, from a file. It names one by its id only, as it may be a new one.
func (k *kind) set(a *Client) *cobra.Command {
	byID := *k
	byID.email = ""
	byID.arg, _, _ = strings.Cut(k.arg, "|")
	one := indefinite(k.noun())
	merge := false
	cmd := byID.verb(a, &cobra.Command{
		Use:   "set FILE",
		Short: "Makes " + one + ", or puts another in its place, as the JSON of a file says",
		Long: "Makes " + one + ", or puts another in its place. The file holds the JSON that the\n" +
			"management API takes and that " + k.command + " show --json prints; \"-\" reads standard input.\n" +
			"With a version in it, nothing is put if the stored " + k.noun() + " has changed since.",
		Example: fmt.Sprintf("  echo '%[3]s' | hiregate %[1]s set %[2]s -\n"+
			"  hiregate %[1]s show %[2]s --json > %[1]s.json\n  hiregate %[1]s set %[2]s %[1]s.json", k.command,
			k.example, k.json),
		Args: terminal.Exactly(2, fmt.Sprintf("%[1]s set takes %[2]s and a file with its JSON, such as: "+
			"hiregate %[1]s set %[3]s %[1]s.json", k.command, one, k.example)),
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		raw, err := terminal.ReadInput(cmd.InOrStdin(), args[1], maxResource)
		if err != nil {
			return err
		}
		unchanged, err := a.unchanged(ctx, path, args[0], raw)
		if err != nil {
			return err
		}
		method := http.MethodPut
		if merge {
			method = http.MethodPatch
		}
		if shown, err := a.askWith(ctx, cmd, method, path, unchanged, verbatim(raw), nil); shown || err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(args[0]), "is set")
		return nil
	})
	cmd.Flags().BoolVar(&merge, "merge", false, "change only what the file has, and leave the rest as it is (RFC 7396)")
	return cmd
}

// unchanged returns the header of a PUT that is refused if the version in the JSON of a resource, which only answers
// have, is not the stored one any more.
func (a *Client) unchanged(ctx context.Context, path, name string, raw []byte) (http.Header, error) {
	var in, stored struct{ Version int64 }
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, errors.New("the file is not a JSON object: the gateway's OpenAPI page describes it, and " +
			"show --json prints one")
	}
	if in.Version <= 0 {
		return nil, nil
	}
	before, err := a.Send(ctx, http.MethodGet, path, nil, nil, &stored)
	if err != nil {
		return nil, err
	}
	if stored.Version != in.Version {
		return nil, fmt.Errorf("%s has changed since: the file has version %d, and version %d is stored; "+
			"get that with show --json, or remove the version from the file to replace it", terminal.Printable(name),
			in.Version, stored.Version)
	}
	return http.Header{"If-Match": {before.Get("ETag")}}, nil
}
