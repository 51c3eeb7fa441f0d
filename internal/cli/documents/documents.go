// Package documents has the command `hiregate documents`: it copies the gateway's documents to another store.
package documents

import (
	"errors"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
)

// progressEvery is how often the progress is written.
const progressEvery = 10 * time.Second

// Command returns the command `hiregate documents`.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "documents",
		Short: "Copies the stored documents to another folder or bucket",
		Args:  terminal.Exactly(0, "documents takes a command, such as: hiregate documents copy FROM TO"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	cmd.AddCommand(copyCommand())
	return cmd
}

func copyCommand() *cobra.Command {
	var bucket documents.Bucket
	var remove bool
	cmd := &cobra.Command{
		Use:   "copy FROM TO",
		Short: "Copies all documents from one folder or bucket to another",
		Long: `Copies all documents from one folder or bucket to another, as the option documents of the
Caddyfile names them. Sealed documents stay sealed. What is there already is not copied again, so a
copy that broke off goes on when the command is run again.

To move, copy while the gateways run; then stop them, copy again with --delete, which takes a moment,
change the Caddyfile, and start them. Nothing is deleted in FROM.

The keys of a bucket are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from
~/.aws/credentials, or from the role of the machine.`,
		Example: `  hiregate documents copy /var/lib/hiregate/documents s3://candidates/hiregate --region eu-central-1
  hiregate documents copy s3://candidates/hiregate /mnt/documents --endpoint https://s3.example.com`,
		Args:              terminal.Exactly(2, "copy takes two stores: hiregate documents copy FROM TO"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newCopier(args[0], args[1], bucket)
			if err != nil {
				return terminal.Usage(err)
			}
			c.Delete = remove
			return run(cmd, c)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&bucket.Endpoint, "endpoint", "", "`URL` of the object storage (default: Amazon's)")
	flags.StringVar(&bucket.Region, "region", "", "region of the bucket (default: us-east-1)")
	flags.StringVar(&bucket.Encryption, "encryption", "", "of what is written, on the server: AES256 or the id of a KMS key")
	flags.BoolVar(&remove, "delete", false, "delete documents in TO that FROM does not have; stop the gateways before")
	return cmd
}

func newCopier(from, to string, bucket documents.Bucket) (*documents.Copier, error) {
	source, err := documents.Identity(from)
	if err != nil {
		return nil, err
	}
	target, err := documents.Identity(to)
	if err != nil {
		return nil, err
	}
	if source == target {
		return nil, errors.New("FROM and TO are the same: name another folder or bucket to copy to")
	}
	c := new(documents.Copier)
	if c.From, err = documents.OpenStore(source, bucket); err == nil {
		c.To, err = documents.OpenStore(target, bucket)
	}
	return c, err
}

func run(cmd *cobra.Command, c *documents.Copier) error {
	ctx, stop := terminal.Interruptible(cmd)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			cmd.PrintErrf("%d %%: %s\n", c.Percent.Load(), counts(c))
		case err := <-done:
			if err != nil {
				return fmt.Errorf("%s, then it failed; run the command again to go on: %w", counts(c), err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), counts(c))
			return err
		}
	}
}

func counts(c *documents.Copier) string {
	return fmt.Sprintf("%d documents copied (%s), %d were there, %d deleted", c.Files.Load(),
		humanize.Bytes(uint64(c.Bytes.Load())), c.Present.Load(), c.Deleted.Load())
}
