package admin

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func candidateDump(a *Client) *cobra.Command {
	var folder string
	cmd := candidates.verb(a, &cobra.Command{
		Use:   "dump",
		Short: "Writes all that is held of a candidate to a new folder",
		Long: `Writes all that is held of a candidate to a new folder, as JSON and files: the candidate, job
applications with their answers and documents, those to the questions of compliance groups too,
exports as they came and went out with what receivers answered, and the audit. index.json lists the
files. An id may also be that of a candidate of received exports.

It works only on the gateway's machine, at its admin endpoint: nothing else shows a person's answers
to the compliance groups. The audit notes it. The entries of the audit name colleagues and partners:
look at what the person is to get. It exits with 1 if something that is stored can't be read.`,
	}, func(ctx context.Context, cmd *cobra.Command, at string, _ []string) error {
		if folder == "" {
			return errors.New("where to? name a folder that does not exist yet with --output")
		}
		index, err := a.dump(ctx, at+"/dump", folder)
		if err != nil {
			return err
		}
		if a.json {
			raw, err := json.Marshal(index)
			if err != nil {
				return err
			}
			err = terminal.WriteJSON(cmd.OutOrStdout(), raw)
			return errors.Join(err, incomplete(index))
		}
		for _, m := range index.Missing {
			cmd.PrintErrf("%s can't be read: %s\n", terminal.Printable(m.Name), terminal.Printable(m.Reason))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s has %d files; %s lists them\n", terminal.Printable(folder), len(index.Files),
			api.DumpIndexName)
		return incomplete(index)
	})
	cmd.Flags().StringVarP(&folder, "output", "o", "", "new `FOLDER` to write to, readable only by its owner")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if a.gateway != "" {
			return fmt.Errorf("a dump is made only on the gateway's machine, by its admin endpoint: run it there, without "+
				"--gateway and %s", GatewayVariable)
		}
		return run(cmd, args)
	}
	return cmd
}

func incomplete(index *api.DumpIndex) error {
	if len(index.Missing) == 0 {
		return nil
	}
	return fmt.Errorf("%d of what is stored can't be read: restore it from a backup, and dump again", len(index.Missing))
}

// dump writes a dump to a new folder, all of it or nothing.
func (a *Client) dump(ctx context.Context, at, folder string) (index *api.DumpIndex, err error) {
	if _, err := os.Lstat(folder); err == nil {
		return nil, fmt.Errorf("%s exists: name a new folder", terminal.Printable(folder))
	}
	answer, err := a.open(ctx, http.MethodPost, at, nil, nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.Header.Get("Content-Type") != api.DumpType {
		return nil, a.elsewhere(strange)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	root, err := os.OpenRoot(folder) // nothing is written outside of it, whatever names come
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return unpack(answer.Body, root)
}

// unpack writes the files of a dump, and returns its index, which comes last.
func unpack(r io.Reader, root *os.Root) (index *api.DumpIndex, err error) {
	for files := tar.NewReader(r); ; {
		file, err := files.Next()
		if err == io.EOF && index != nil {
			return index, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the dump broke off, and nothing of it is kept; the gateway's log says why: %w",
				terminal.Cause(err))
		}
		if err := root.MkdirAll(path.Dir(file.Name), 0o700); err != nil {
			return nil, err
		}
		out, err := root.OpenFile(file.Name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(out, files)
		if err := errors.Join(err, out.Close()); err != nil {
			return nil, fmt.Errorf("the dump broke off, and nothing of it is kept: %w", terminal.Cause(err))
		}
		if file.Name != api.DumpIndexName {
			continue
		}
		raw, err := root.ReadFile(file.Name)
		if err != nil {
			return nil, err
		}
		index = new(api.DumpIndex)
		if err := json.Unmarshal(raw, index); err != nil {
			return nil, err
		}
	}
}
