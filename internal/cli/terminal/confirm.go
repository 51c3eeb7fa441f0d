package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Attended reports whether a person is at the terminal who can be asked: what a program or a script types is no answer.
func Attended(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && IsTerminal(cmd.ErrOrStderr())
}

// Confirm asks the person at the terminal a question. Anything but y or yes is a no, and an error.
func Confirm(ctx context.Context, cmd *cobra.Command, question string) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s Type y to go on: ", question)
	line, err := Await(ctx, func() ([]byte, error) {
		text, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		return []byte(text), err
	})
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: nothing was done")
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the answer: %w", Cause(err))
	}
	switch strings.ToLower(strings.TrimSpace(string(line))) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done: answer y, or add --yes")
}
