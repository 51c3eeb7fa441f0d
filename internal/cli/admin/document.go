package admin

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
)

// Document returns the command `hiregate document`.
func Document() *cobra.Command {
	return group(&cobra.Command{
		Use:   "document",
		Short: "Lists, shows, adds and removes the documents of job applications",
		Long: `Lists, shows and removes the documents of a tenant's job applications, and uploads files.

These commands ask the gateway, at Caddy's admin endpoint or through its management API.`,
		Example: `  hiregate document list initech/a-zoe
  hiregate document set initech/a-zoe/resume resume.pdf --description Resume
  hiregate document remove initech/a-zoe/resume`,
	}, documentList, documentShow, documentSet, documentRemove)
}

var documentResource = resource{word: "document", path: "documents", arg: "TENANT/APPLICATION/DOCUMENT",
	example: "initech/a-zoe/resume"}

// uploadRow is what is shown of a document of a job application.
type uploadRow struct {
	ID           string    `json:"id"`
	Application  string    `json:"jobApplication"`
	FileName     string    `json:"fileName"`
	MediaType    string    `json:"mediaType"`
	Descriptions []string  `json:"descriptions"`
	Size         int64     `json:"size"`
	SHA256       string    `json:"sha256"`
	CreatedAt    time.Time `json:"createdAt"`
	Scan         string    `json:"scan"`
	Finding      string    `json:"finding"`
}

// documentOf reads TENANT/APPLICATION/DOCUMENT. An id with slashes in it must be percent-encoded in the address of the
// API; here the last slash is the one before the document.
func documentOf(arg string) (application, id string, err error) {
	whose := "whose document is it? write it as TENANT/APPLICATION/DOCUMENT, such as initech/a-zoe/resume"
	tenant, rest, err := cutTenant(arg, whose)
	if err != nil {
		return "", "", err
	}
	n := strings.LastIndexByte(rest, '/')
	if n < 1 || n == len(rest)-1 {
		return "", "", errors.New(whose)
	}
	return tenantPath(tenant, "job-applications", rest[:n]), rest[n+1:], nil
}

func findDocument(_ context.Context, _ *Client, arg string) (string, error) {
	application, id, err := documentOf(arg)
	return application + "/documents/" + terminal.PathSegment(id), err
}

func documentList(a *Client) *cobra.Command {
	p := new(pages)
	p.choose = func(args []string) error {
		path, err := applicationResource.pathOf(args[0])
		p.path = path + "/documents"
		return err
	}
	return listing(a, p, &cobra.Command{
		Use:   "list " + applicationResource.arg,
		Short: "Lists the documents of a job application",
		Args: terminal.Exactly(1, "document list takes one job application, such as: "+
			"hiregate document list initech/a-zoe"),
	}, []string{"document", "file", "type", "bytes", "added", "scan", "descriptions"}, func(d *uploadRow) []any {
		return []any{d.ID, d.FileName, d.MediaType, d.Size, d.CreatedAt, terminal.State(d.Scan),
			strings.Join(d.Descriptions, ", ")}
	})
}

func documentShow(a *Client) *cobra.Command {
	return shown(a, "document", documentResource, findDocument, func(cmd *cobra.Command, d *uploadRow) error {
		table := terminal.NewTable(cmd.OutOrStdout())
		table.Row("document", d.ID)
		table.Row("application", d.Application)
		table.Row("file", d.FileName)
		table.Row("type", d.MediaType)
		table.Row("bytes", d.Size)
		table.Row("sha256", d.SHA256)
		table.Row("descriptions", strings.Join(d.Descriptions, ", "))
		table.Row("added", d.CreatedAt)
		table.Row("scan", terminal.State(d.Scan))
		table.Row("finding", d.Finding)
		return table.Flush()
	})
}

func documentSet(a *Client) *cobra.Command {
	var name, kind string
	var descriptions []string
	cmd := &cobra.Command{
		Use:   "set " + documentResource.arg + " FILE",
		Short: "Uploads a file as a document of a job application",
		Long: `Uploads a file as a document of a job application; "-" reads standard input. It must be smaller
than 25 MiB. The media type is that of the file's name, or else what the gateway detects. A
document is never changed: remove it first.`,
		Args: terminal.Exactly(2, "document set takes a document and a file, such as: hiregate document set "+
			"initech/a-zoe/resume resume.pdf"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			application, id, err := documentOf(args[0])
			if err != nil {
				return err
			}
			raw, err := terminal.ReadInput(cmd.InOrStdin(), args[1], documents.MaxSize)
			if err != nil {
				return err
			}
			if args[1] != "-" && name == "" {
				name = filepath.Base(args[1])
			}
			if kind == "" {
				kind = mime.TypeByExtension(filepath.Ext(name))
			}
			query := url.Values{"id": {id}, "description": descriptions}
			// A Document object keeps the file's name, often a person's, out of the address.
			object := map[string]any{"content": raw, "fileName": name, "mimeType": kind}
			var d uploadRow
			path := application + "/documents?" + query.Encode()
			if shown, err := a.ask(ctx, cmd, http.MethodPost, path, object, &d); shown || err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is added: %s, %d bytes\n", terminal.Printable(args[0]),
				terminal.Printable(d.MediaType), d.Size)
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.StringVar(&name, "file-name", "", "name that receivers see (default: that of the file)")
	fl.StringVar(&kind, "type", "", "media type, such as application/pdf (default: by the file's name)")
	fl.StringArrayVar(&descriptions, "description", nil, "what it is, such as Resume; repeat it for more")
	return cmd
}

func documentRemove(a *Client) *cobra.Command {
	return deletion(a, findDocument, "is removed", &cobra.Command{
		Use:   "remove " + documentResource.arg,
		Short: "Removes a document of a job application",
		Args:  documentResource.one("document", "remove"),
	})
}
