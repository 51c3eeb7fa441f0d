package admin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/takeout"
)

// single returns a command that stands alone, with the client that it asks.
func single(cmd *cobra.Command, run func(*Client, context.Context, *cobra.Command, []string) error) *cobra.Command {
	a := new(Client)
	cmd.RunE = a.judged(interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		return run(a, ctx, cmd, args)
	}))
	cmd.SilenceUsage = true
	a.flags(cmd)
	a.completeFlags(cmd)
	cmd.SetFlagErrorFunc(terminal.FlagError)
	return cmd
}

// Takeout returns the command `hiregate takeout`.
func Takeout() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "takeout --tenant TENANT --output FILE",
		Short: "Writes all that a tenant's service keeps to an archive",
		Long: `Writes all that a tenant's service keeps to a tar archive of NDJSON and files: steps, jobs with
questions, candidates, and job applications with answers, moves, documents and times. It is left out
what was answered to the questions of compliance groups, files that are being scanned and those that
the scanner refused. hiregate import brings it in again.

It takes the role admin, and the audit notes it. It exits with 1 if a file can't be read. What comes
is in FILE.part until all is there. If it breaks off, the same command with --resume goes on from there.`,
		Example: `  hiregate takeout --tenant initech --output initech.tar
  hiregate takeout --tenant initech --output initech.tar --resume`,
		Args: terminal.Exactly(0, "takeout takes only flags, such as: hiregate takeout --tenant initech --output initech.tar"),
	}
	tenant := cmd.Flags().String("tenant", "", "the tenant")
	name := cmd.Flags().StringP("output", "o", "", "new `FILE` to write to, readable only by its owner; - is standard output")
	resume := cmd.Flags().Bool("resume", false, "go on where a takeout to the same file broke off")
	return single(cmd, func(a *Client, ctx context.Context, cmd *cobra.Command, _ []string) error {
		if *name == "" {
			return errors.New("where to? name a file that does not exist yet with --output; - is standard output")
		}
		if err := model.ValidateTenantName(*tenant); err != nil {
			return fmt.Errorf("whose? name the tenant with --tenant: %w", err)
		}
		seen := new(takeout.Followed)
		err := a.takeOut(ctx, cmd, *tenant, *name, *resume, seen)
		if err != nil {
			return err
		}
		for _, m := range seen.Missing {
			cmd.PrintErrf("left out: document %s of %s: %s\n", terminal.Printable(m.Document), terminal.Printable(m.Application),
				terminal.Printable(m.Reason))
		}
		end := seen.End
		cmd.PrintErrf("taken out: steps %d, jobs %d, candidates %d, job applications %d, files %d; answers to compliance groups "+
			"are left out\n", end.Steps, end.Jobs, end.Candidates, end.Applications, end.Files)
		for _, m := range seen.Missing {
			if m.Damaged {
				return errors.New("files can't be read: restore them from a backup, and take out again")
			}
		}
		return nil
	})
}

// takeOut writes the archive of a tenant to a file of a name.
func (a *Client) takeOut(ctx context.Context, cmd *cobra.Command, tenant, name string, resume bool, seen *takeout.Followed) error {
	tell := func(int) {}
	if screen := cmd.ErrOrStderr(); terminal.IsTerminal(screen) {
		tell = func(entry int) {
			if entry%100 == 0 {
				fmt.Fprintf(screen, "\r%d files and lists", entry)
			}
		}
	}
	if name == "-" {
		if resume {
			return errors.New("what went to standard output can't be resumed: name a file with --output")
		}
		archive, err := a.archive(ctx, tenant, "")
		if err != nil {
			return err
		}
		defer archive.Close()
		return brokenOff(seen.Follow(io.TeeReader(archive, cmd.OutOrStdout()), tell))
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, fmt.Errorf("%s is there already: name a file that does not exist yet", name))
	}
	part := name + ".part"
	file, err := openPart(part, tenant, resume, seen)
	if err != nil {
		return err
	}
	archive, err := a.archive(ctx, tenant, seen.From)
	if err != nil {
		err = errors.Join(err, file.Close())
		if !resume {
			err = errors.Join(err, os.Remove(part))
		}
		return err
	}
	defer archive.Close()
	err = seen.Follow(io.TeeReader(archive, file), tell)
	if err := cmp.Or(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("%w; go on with --resume, or remove %s", brokenOff(err), part)
	}
	return os.Rename(part, name)
}

// openPart opens the file that a takeout is written to until it is whole. One that broke off is cut after what is whole.
func openPart(name, tenant string, resume bool, seen *takeout.Followed) (*os.File, error) {
	if !resume {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("%s is of a takeout that broke off: go on with --resume, or remove it", name)
		}
		return file, err
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s to go on with: leave out --resume", name)
	}
	if err != nil {
		return nil, err
	}
	_ = seen.Follow(file, func(int) {}) // it broke off
	seen.End = nil
	if seen.Tenant != "" && seen.Tenant != tenant {
		err = fmt.Errorf("%s is of the tenant %s: name that one with --tenant", name, terminal.Printable(seen.Tenant))
	}
	if err == nil {
		err = file.Truncate(seen.Whole)
	}
	if err == nil {
		_, err = file.Seek(seen.Whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// archive has the gateway write an archive, or what is left of one from a place on.
func (a *Client) archive(ctx context.Context, tenant, from string) (io.ReadCloser, error) {
	path := tenantPath(tenant, "takeout")
	if from != "" {
		path += "?from=" + url.QueryEscape(from)
	}
	answer, err := a.open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	if answer.Header.Get("Content-Type") != api.TakeoutType {
		return nil, errors.Join(a.elsewhere(strange), answer.Body.Close())
	}
	return answer.Body, nil
}

// cmpEOF returns an error that says that a file ended too early.
func cmpEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Import returns the command `hiregate import`.
func Import() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import --tenant TENANT FILE",
		Short: "Brings in what a takeout, or another system, has of a tenant",
		Long: `Brings in what hiregate takeout wrote: a tar archive, or NDJSON of the same lines without files. All of
it is checked before anything is written: names, sizes, hashes and the tenant. What is there of the
same id stays as it is, so an import that broke off is made again. Times, steps and versions stay
those of the file. Nothing is exported by it, and nobody who was erased here since comes back.

It takes the role admin, and the audit notes it.`,
		Example: `  hiregate import --tenant initech initech.tar
  echo '{"candidate":{"id":"c-1","createdAt":"2025-03-01T09:00:00Z"}}' > people.ndjson
  hiregate import --tenant initech people.ndjson`,
		Args: terminal.Exactly(1, "import takes a file, such as: hiregate import --tenant initech initech.tar"),
	}
	tenant := cmd.Flags().String("tenant", "", "the tenant")
	return single(cmd, func(a *Client, ctx context.Context, cmd *cobra.Command, args []string) error {
		if err := model.ValidateTenantName(*tenant); err != nil {
			return fmt.Errorf("whose? name the tenant with --tenant: %w", err)
		}
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		in := bufio.NewReader(file)
		kind := api.TakeoutType
		if begin, _ := in.Peek(1); strings.HasPrefix(string(begin), "{") {
			kind = api.LinesType
		}
		answer, err := a.open(ctx, http.MethodPost, tenantPath(*tenant, "import"), http.Header{"Content-Type": {kind}},
			streamed{in})
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		var last api.ImportProgress
		for lines := json.NewDecoder(answer.Body); !last.Done && last.Fault == ""; {
			if err := lines.Decode(&last); err != nil {
				return fmt.Errorf("the answer broke off; what was written stays: import again, which goes on from there: %w",
					terminal.Cause(cmpEOF(err)))
			}
			if terminal.IsTerminal(cmd.ErrOrStderr()) {
				cmd.PrintErrf("\r%d candidates, %d job applications", last.Candidates, last.Applications)
			}
		}
		if a.json {
			raw, err := json.Marshal(last)
			if err == nil {
				err = terminal.WriteJSON(cmd.OutOrStdout(), json.RawMessage(raw))
			}
			if err != nil {
				return err
			}
		} else {
			sayImported(cmd, &last)
		}
		if last.Fault != "" {
			return fmt.Errorf("it broke off, and what was written stays: %s; import again, which goes on from there",
				terminal.Printable(last.Fault))
		}
		return nil
	})
}

func sayImported(cmd *cobra.Command, p *api.ImportProgress) {
	table := terminal.NewTable(cmd.OutOrStdout(), "brought in", "")
	for _, one := range []struct {
		what string
		n    int
		zero bool // it is said where it is none, too
	}{
		{"steps", p.Steps, true}, {"jobs", p.Jobs, true}, {"candidates", p.Candidates, true},
		{"job applications", p.Applications, true}, {"documents", p.Documents, true}, {"there already", p.There, true},
		{"erased here, left out", p.Erased, true}, {"documents without a file, left out", p.WithoutFile, false},
		{"helpers without their integration, left out", p.Helpers, false},
	} {
		if one.n > 0 || one.zero {
			table.Row(one.what, one.n)
		}
	}
	_ = table.Flush()
}
