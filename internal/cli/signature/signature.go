// Package signature has the command `hiregate signature`: it finds out why a signature does not match.
package signature

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

const (
	maxBody   = 32 << 20 // bytes
	maxSecret = 4 << 10  // bytes
	maxHeader = 1 << 10  // bytes; a signature has 64
)

type flags struct {
	body, header, serviceName string
	secrets, others           []string // files
}

// Command returns the command `hiregate signature`.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "signature",
		Short: "Explains why a signature does not match",
		Args:  terminal.Exactly(0, "signature takes a command: hiregate signature explain"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	cmd.AddCommand(explainCommand())
	return cmd
}

func explainCommand() *cobra.Command {
	f := new(flags)
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Computes a signature again, and names the mistake that makes it match",
		Long: `Computes the signature of a body: the HMAC-SHA256 of its bytes under the secret, in hex. If it is not that of the header,
it tries what receivers and senders get wrong, one mistake in each of header, secret and body at a time, and names the mistake
that makes it match: a newline at the end, JSON that was written again, base64 for hex, a secret that was decoded, and so on.

--secret-file may be repeated: the first is the one that should match. --other names the body of another event, which may have been
taken for this one. Each secret is read from a file and never printed.

The exit code is 0 if the signature matches as it is, else 1.`,
		Example: `  hiregate signature explain --body body.json --secret-file secret.txt --header 5f0c7d9e…
  hiregate signature explain --body body.json --secret-file new.txt --secret-file old.txt --header 5f0c7d9e… --other verify.json`,
		SilenceUsage: true,
		Args:         terminal.Exactly(0, "explain takes flags only: --body FILE --secret-file FILE --header HEX"),
		RunE:         func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.body, "body", "", "file with the body as it was received; - is standard input")
	fl.StringArrayVar(&f.secrets, "secret-file", nil, "file with the secret; repeat it for more")
	terminal.SecretNamesFile(fl)
	fl.StringVar(&f.header, "header", "", "value of the header X-Service-Signature")
	fl.StringArrayVar(&f.others, "other", nil, "file with the body of another event; repeat it for more")
	fl.StringVar(&f.serviceName, "service-name", "Service", "the maker's name in the verification body")
	return cmd
}

func (f *flags) check() error {
	switch {
	case f.body == "":
		return errors.New("which body? name its file, such as: --body body.json")
	case len(f.secrets) == 0:
		return errors.New("which secret? name a file that has it, such as: --secret-file secret.txt")
	case f.header == "":
		return errors.New("which signature? give the value of the header, such as: --header 5f0c7d9e…")
	case len(f.header) > maxHeader:
		return errors.New("--header is longer than 1 KiB: give the value of X-Service-Signature alone")
	}
	return nil
}

func (f *flags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return terminal.Usage(err)
	}
	names, err := webhook.NamesFor(f.serviceName)
	if err != nil {
		return terminal.Usage(fmt.Errorf("--service-name: %w", err))
	}
	c := &evidence{header: f.header, others: [][]byte{names.VerifyBody()}}
	if c.body, err = terminal.ReadInput(cmd.InOrStdin(), f.body, maxBody); err != nil {
		return err
	}
	for _, file := range f.secrets {
		secret, err := terminal.ReadInput(cmd.InOrStdin(), file, maxSecret)
		if err != nil {
			return err
		}
		if len(secret) == 0 {
			return fmt.Errorf("the file of a secret, %s, is empty: put the secret into it", terminal.Printable(file))
		}
		c.secrets = append(c.secrets, secret)
	}
	for _, file := range f.others {
		other, err := terminal.ReadInput(cmd.InOrStdin(), file, maxBody)
		if err != nil {
			return err
		}
		c.others = append(c.others, other)
	}
	found := c.explain()
	if found == nil {
		for _, hint := range c.hints() {
			fmt.Fprintln(cmd.OutOrStdout(), hint)
		}
		return errors.New("the signature does not match, and nothing we tried matches: compare secret and body with the sender's")
	}
	if len(found) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "The signature matches.")
		return nil
	}
	fmt.Fprintln(cmd.OutOrStdout(), "The signature matches with this difference:")
	for _, a := range found {
		fmt.Fprintf(cmd.OutOrStdout(), "  %s: %s.\n", a.name, a.advice)
	}
	return errors.New("the signature does not match as it is")
}
