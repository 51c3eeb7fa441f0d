package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exactly accepts n arguments. For any other number the error is the sentence, which says what to write instead.
func Exactly(n int, sentence string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return errors.New(sentence)
		}
		return nil
	}
}

// Interruptible returns a context that ends with the command's, or at the first Ctrl-C. A second Ctrl-C ends the
// program at once.
func Interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// FlagError is for [cobra.Command.SetFlagErrorFunc]: it makes a sentence of the error of a flag.
func FlagError(cmd *cobra.Command, err error) error { return WrongFlag(err, cmd.Name()) }

// WrongFlag makes a sentence of the error of a flag, and names the help of the command. It leaves out the text of
// strconv: the flag's name and the value precede it.
func WrongFlag(err error, command string) error {
	sentence := err.Error()
	if number := new(strconv.NumError); errors.As(err, &number) {
		sentence = strings.TrimSuffix(sentence, ": "+number.Error())
	}
	return fmt.Errorf("%s; `hiregate %s --help` lists the flags", sentence, command)
}
