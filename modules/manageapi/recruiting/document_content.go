package recruiting

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// serveContent serves the file of a document, as exports serve theirs.
func serveContent(r *rest.Request) (any, error) {
	d, err := findDocument(r)
	if err != nil {
		return nil, err
	}
	switch d.Scan {
	case model.Refused:
		return nil, problem.New(http.StatusGone, "nobody gets this file: the scanner refused it")
	case model.ScanPending:
		return nil, problem.New(http.StatusServiceUnavailable,
			"this file is still being scanned: ask again after the time in Retry-After").RetryAfter(5 * time.Second)
	}
	content, err := openFile(r, d.Blob, d.Size, d.SHA256)
	if err != nil {
		return nil, err
	}
	r.Object = "job-applications/" + d.Application + "/documents/" + d.ID
	if err := r.AuditAlone(); err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return rest.Stream(func(w http.ResponseWriter, req *http.Request) error {
		defer content.Close()
		return documents.Serve(w, req, content, d.MediaType, d.FileName)
	}), nil
}

// serveFiles serves the files of a job application as a ZIP archive. Their names in it are ours: what strangers called
// them is no name to have on a disk.
func serveFiles(r *rest.Request) (any, error) {
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	all, _, err := r.DB.ListApplicationDocuments(r.Context(), a.Tenant, a.ID, 0, maxDocuments)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d *model.ApplicationDocument) bool {
		return !d.Scan.HandsOn()
	})
	if len(all) == 0 {
		return nil, problem.New(http.StatusNotFound, "this job application has no file that anybody gets")
	}
	r.Object = "job-applications/" + a.ID + "/documents"
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	return rest.Stream(func(w http.ResponseWriter, _ *http.Request) error {
		archive := newArchive(w, "documents.zip")
		for _, d := range all {
			content, err := openFile(r, d.Blob, d.Size, d.SHA256)
			if err != nil {
				return err
			}
			if err := cmp.Or(archive.add(filetype.Extension(d.MediaType), d.CreatedAt, content), content.Close()); err != nil {
				return err
			}
		}
		return archive.Close()
	}), nil
}

// archive is a ZIP archive that is being served. Documents are compressed already.
type archive struct {
	*zip.Writer
	files int
}

func newArchive(w http.ResponseWriter, name string) *archive {
	w.Header().Set("Content-Type", "application/zip")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return &archive{Writer: zip.NewWriter(w)}
}

func (a *archive) add(extension string, at time.Time, content io.Reader) error {
	a.files++
	file, err := a.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("document-%02d%s", a.files, extension), Method: zip.Store,
		Modified: at})
	if err == nil {
		_, err = io.Copy(file, content)
	}
	return err
}

// openFile opens a file of the document store.
func openFile(r *rest.Request, blob string, size int64, sum []byte) (*documents.Whole, error) {
	content, err := r.Gateway.Runtime.Archive.Files.OpenWhole(blob, size, sum)
	if errors.Is(err, store.ErrUnreadable) {
		return nil, problem.New(http.StatusInternalServerError,
			"this file is damaged: restore the document store, or the database, from a backup")
	}
	return content, err
}
