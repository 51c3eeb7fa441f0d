package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
)

// Document returns the command `hiregate document`.
func Document() *cobra.Command {
	return group(&cobra.Command{
		Use:   "document",
		Short: "Lists, shows, adds, downloads and removes the documents of job applications",
		Long:  `Lists, shows and removes the documents of a tenant's job applications, uploads files and downloads them.`,
		Example: `  hiregate document list initech/a-zoe
  hiregate document get initech/a-zoe/resume --output resume.pdf
  hiregate document set initech/a-zoe/resume resume.pdf --description Resume
  hiregate document remove initech/a-zoe/resume`,
	}, uploads.list, uploads.show, documentGet, documentSet, uploads.remove)
}

// uploads are the documents of job applications.
var uploads = noun[api.Document]{
	kind: kind{command: "document", at: "documents", under: &applications.kind, arg: "TENANT/APPLICATION/DOCUMENT",
		example: "initech/a-zoe/resume"},
	listHelp:   help{short: "Lists the documents of a job application"},
	removeHelp: help{short: "Removes a document of a job application"},
	columns:    []string{"document", "file", "type", "bytes", "added", "scan", "descriptions"},
	fields: func(d *api.Document) []field {
		return []field{
			{"document", d.ID},
			{"application", d.Application},
			{"file", d.FileName},
			{"type", d.MediaType},
			{"bytes", d.Size},
			{"sha256", d.SHA256},
			{"descriptions", strings.Join(d.Descriptions, ", ")},
			{"added", d.CreatedAt},
			{"scan", terminal.State(d.Scan)},
			{"finding", d.Finding},
		}
	},
}

func documentSet(a *Client) *cobra.Command {
	var name, media string
	var descriptions []string
	cmd := uploads.verb(a, &cobra.Command{
		Use:   "set FILE",
		Short: "Uploads a file as a document of a job application",
		Long: `Uploads a file as a document of a job application; "-" reads standard input. It must be smaller
than 25 MiB. The media type is that of the file's name, or else what the gateway detects. A
document is never changed: remove it first.`,
		Args: terminal.Exactly(2, "document set takes a document and a file, such as: hiregate document set "+
			"initech/a-zoe/resume resume.pdf"),
	}, func(ctx context.Context, cmd *cobra.Command, _ string, args []string) error {
		raw, err := terminal.ReadInput(cmd.InOrStdin(), args[1], documents.MaxSize)
		if err != nil {
			return err
		}
		if args[1] != "-" && name == "" {
			name = filepath.Base(args[1])
		}
		if media == "" {
			media = mime.TypeByExtension(filepath.Ext(name))
		}
		list, id, err := uploads.split(args[0])
		if err != nil {
			return err
		}
		query := url.Values{"id": {id}, "description": descriptions}
		// A Document object keeps the file's name, often a person's, out of the address.
		object := map[string]any{"content": raw, "fileName": name, "mimeType": media}
		var d api.Document
		if shown, err := a.ask(ctx, cmd, http.MethodPost, list+"?"+query.Encode(), object, &d); shown || err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is added: %s, %d bytes\n", terminal.Printable(args[0]),
			terminal.Printable(d.MediaType), d.Size)
		return nil
	})
	fl := cmd.Flags()
	fl.StringVar(&name, "file-name", "", "name that receivers see (default: that of the file)")
	fl.StringVar(&media, "type", "", "media type, such as application/pdf (default: by the file's name)")
	fl.StringArrayVar(&descriptions, "description", nil, "what it is, such as Resume; repeat it for more")
	return cmd
}

func documentGet(a *Client) *cobra.Command {
	var name string
	cmd := uploads.verb(a, &cobra.Command{
		Use:   "get",
		Short: "Downloads the file of a document",
		Long: `Downloads the file of a document, which is personal data: it takes the role operator, and the audit
notes it. A file that exists is not overwritten.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if name == "" {
			return errors.New("where to? name a file that does not exist yet with --output; - is standard output")
		}
		answer, err := a.open(ctx, http.MethodGet, path+"/content", http.Header{"Accept": {"application/octet-stream"}}, nil)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if name == "-" {
			_, err := io.Copy(cmd.OutOrStdout(), answer.Body)
			return brokenOff(err)
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, answer.Body)
		if err := errors.Join(err, file.Close()); err != nil {
			return errors.Join(brokenOff(err), os.Remove(name))
		}
		return nil
	})
	cmd.Flags().StringVarP(&name, "output", "o", "", "new `FILE` to write to, readable only by its owner")
	return cmd
}

// brokenOff makes a sentence of the error of a download, if there is one.
func brokenOff(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the file broke off and is not whole; the gateway's log says why: %w", terminal.Cause(err))
}
