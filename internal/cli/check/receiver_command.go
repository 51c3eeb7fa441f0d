package check

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

type receiverFlags struct {
	flags
	secret, nextSecret, serviceName string
}

func receiverCommand() *cobra.Command {
	f := new(receiverFlags)
	cmd := &cobra.Command{
		Use:   "receiver URL",
		Short: "Plays the service: checks a partner's webhook receiver",
		Long: `Plays the service: sends verifications and exports, right and wrong ones, to a partner's receiver, and reports which
requirements of the contract it meets, with what was sent, what came back and what to do.

The candidates are invented and marked: their ids begin with check-. A check sends at most 60 requests, the whole run takes at
most ` + runBound.String() + `. --only names checks by id or pattern; --list shows them.

` + exitCodes,
		Example: `  hiregate check receiver http://localhost:8090/acme --secret secret.txt
  hiregate check receiver http://localhost:8090/acme --secret secret.txt --next-secret next.txt --format junit
  hiregate check receiver --list`,
		SilenceUsage: true,
		Args:         f.oneURL("check receiver takes one URL, such as: hiregate check receiver http://localhost:8090/acme --secret FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := terminal.Interruptible(cmd)
			defer stop()
			return f.run(ctx, cmd, args)
		},
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.secret, "secret", "", "file with the secret that signs; - is standard input")
	fl.StringVar(&f.nextSecret, "next-secret", "", "file with the next secret of a rotation, which the receiver takes as well")
	fl.StringVar(&f.serviceName, "service-name", "Service", "the maker's name in headers, scheme ids and fixed strings")
	return cmd
}

func (f *receiverFlags) run(ctx context.Context, cmd *cobra.Command, args []string) error {
	checks, err := begin(cmd, &f.flags, receiverChecks)
	if err != nil || f.list {
		return err
	}
	target, err := terminal.ParseTarget(args[0])
	if err != nil {
		return terminal.Usage(err)
	}
	names, err := webhook.NamesFor(f.serviceName)
	if err != nil {
		return terminal.Usage(fmt.Errorf("--service-name: %w", err))
	}
	if f.secret == "" {
		return terminal.Usage(errors.New("which secret signs? name a file that has it, such as: --secret secret.txt"))
	}
	r := newReceiver(target.String(), names)
	if r.secret, err = terminal.ReadSecret(cmd.InOrStdin(), f.secret); err != nil {
		return err
	}
	if f.nextSecret != "" {
		if r.nextSecret, err = terminal.ReadSecret(cmd.InOrStdin(), f.nextSecret); err != nil {
			return err
		}
	}
	if err := f.permit(ctx, cmd, target); err != nil {
		return err
	}
	if err := reach(ctx, target); err != nil {
		return err
	}
	defer r.client.CloseIdleConnections()
	return play(ctx, cmd, &f.flags, checks, r)
}
