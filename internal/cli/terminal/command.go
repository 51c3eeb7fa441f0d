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
	"github.com/spf13/pflag"
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
	ctx, stop := context.WithCancel(cmd.Context())
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-interrupts:
		case <-ctx.Done():
		}
		signal.Stop(interrupts) // before anyone who waits for ctx says that another Ctrl-C ends the program
		stop()
	}()
	return ctx, stop
}

// FlagError is for [cobra.Command.SetFlagErrorFunc]: it makes a sentence of the error of a flag. It proposes the flag
// that was probably meant, and names the help of the command. It leaves out the text of strconv: the flag's name and
// the value precede it.
func FlagError(cmd *cobra.Command, err error) error {
	sentence := err.Error()
	if number := new(strconv.NumError); errors.As(err, &number) {
		sentence = strings.TrimSuffix(sentence, ": "+number.Error())
	}
	if unknown := new(pflag.NotExistError); errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if meant := Nearest(unknown.GetSpecifiedName(), names); meant != "" {
			sentence += ": did you mean --" + meant + "?"
			return fmt.Errorf("%s `hiregate %s --help` lists the flags", sentence, Path(cmd))
		}
	}
	return fmt.Errorf("%s; `hiregate %s --help` lists the flags", sentence, Path(cmd))
}

// Path returns a command's name without hiregate, such as "export list".
func Path(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "hiregate ") }

// Nearest returns the name that was probably meant by a word: the one with the fewest characters to change, two of them
// at most and less than half of the word, or one that begins with the word. Empty: there is none.
func Nearest(word string, names []string) string {
	meant, least := "", 3
	for _, name := range names {
		n := distance(word, name)
		if len(word) > 2 && strings.HasPrefix(name, word) {
			n = min(n, 1)
		}
		if n < least && 2*n < len(word) {
			meant, least = name, n
		}
	}
	return meant
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substituted := diagonal
			if a[i] != b[j] {
				substituted++
			}
			diagonal = row[j+1]
			row[j+1] = min(substituted, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
