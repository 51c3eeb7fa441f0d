package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// revealed is what the gateway made, with a secret that it shows this once.
type revealed interface {
	secret() string  // empty: none was made
	another() string // what to do when it was not seen
}

// reveal asks for something that may answer with a secret, which is read into into and printed: with --json the whole
// answer, as it came, and shown is true; else the secret alone. A secret that could not be written is lost, and the
// error says what to do then.
func (a *Client) reveal(
	ctx context.Context, cmd *cobra.Command, path string, in any, into revealed,
) (shown bool, err error) {
	var raw json.RawMessage
	if err := a.Call(ctx, http.MethodPost, path, in, &raw); err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("reading what the gateway answered: %w", err)
	}
	switch {
	case a.json:
		err = terminal.WriteJSON(cmd.OutOrStdout(), raw)
	case into.secret() != "":
		_, err = fmt.Fprintln(cmd.OutOrStdout(), terminal.Printable(into.secret()))
	}
	if err != nil && into.secret() != "" {
		err = fmt.Errorf("it was made, but could not be written (%w), and is not shown again: %s", terminal.Cause(err),
			into.another())
	}
	return a.json, err
}
