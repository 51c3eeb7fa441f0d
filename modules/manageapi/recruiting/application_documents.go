package recruiting

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// maxDocuments is the most documents that a job application has.
const maxDocuments = 100

// applicationDocuments serves the documents of a job application, in the order they were added. Exports that offer a
// deleted document still do until their time is over; the next sweep removes a file that no export offers.
var applicationDocuments = rest.Resource[*model.ApplicationDocument]{
	Path: anApplication + "/documents", ID: "document", Kind: "document", Reader: model.Viewer, Writer: model.Operator,
	Personal: true, List: listDocuments, Find: findDocument, View: rest.ViewAs(api.DocumentOf),
	Drop: deleteDocument,
}

// applicationOf returns the job application that the path names.
func applicationOf(r *rest.Request) (*model.JobApplication, error) {
	return applications.Named(r)
}

// maxObject is the size of the largest Document object, in bytes: its content in base64, and room for the rest.
const maxObject = documents.MaxSize/3*4 + 64<<10

// addDocument takes a file in and makes it a document of a job application. The body is the file, or the contract's
// Document object, which keeps the file's name, often a person's, out of the address. Either way it goes to the disk
// as it arrives.
func addDocument(r *rest.Request) (any, error) {
	d, err := describedDocument(r)
	if err != nil {
		return nil, err
	}
	object, limit := d.MediaType == "application/json", int64(documents.MaxSize)
	if object {
		limit = maxObject
	}
	if r.ContentLength > limit {
		return nil, tooLarge()
	}
	// Noted first: what a crash leaves of the file, or an error after which nobody knows whether its row was written, is
	// the sweep's.
	archive := r.Gateway.Runtime.Archive
	name, err := archive.BeginUpload(r.Context())
	if err != nil {
		return nil, err
	}
	taken := false
	defer func() {
		if taken {
			return
		}
		if err := archive.DiscardUploads(context.WithoutCancel(r.Context()), []string{name}); err != nil {
			r.Log.Warn("a file that no document needs is left to the sweep", zap.Error(err))
		}
	}()
	var blob documents.Blob
	put := func(file io.Reader) (err error) {
		blob, err = archive.Files.Put(r.Context(), name, file, documents.MaxSize)
		return err
	}
	bodies.Within(r.Writer, documents.UploadTime/2) // what is later would be the sweep's
	body := http.MaxBytesReader(r.Writer, r.Body, limit+1)
	if object {
		d.MediaType, d.FileName, err = documents.DecodeObject(body, put)
	} else {
		err = put(body)
	}
	var noObject *documents.ObjectError
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, documents.ErrTooLarge), errors.As(err, &large):
		return nil, tooLarge()
	case errors.As(err, &noObject):
		return nil, problem.New(http.StatusUnprocessableEntity,
			noObject.Error()+": send {content, mimeType, fileName}, or the file itself under its own Content-Type")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, rest.TooSlow()
	case errors.Is(err, documents.ErrFull):
		r.Log.Error("a document could not be kept", zap.Error(err))
		return nil, problem.New(http.StatusServiceUnavailable,
			"there is no room for documents: make some, and send it again").RetryAfter(time.Minute)
	case err != nil && r.Context().Err() == nil:
		r.Log.Warn("a document could not be taken in", zap.Error(err))
		fallthrough
	case err != nil:
		return nil, problem.New(http.StatusBadRequest, "the file broke off, or could not be kept: send it again").Closing()
	}
	if err := r.AuthenticateAgain(); err != nil {
		return nil, err
	}
	d.Blob, d.SHA256, d.Size = blob.Name, blob.SHA256[:], blob.Size
	if err := settleType(d, blob.Detected); err != nil {
		return nil, err
	}
	return r.ExactlyOnce([]byte(string(blob.SHA256[:])+d.MediaType+"\x00"+d.FileName), func() (any, error) {
		v, err := keepDocument(r, d)
		// When the store is away, its row may be there anyway.
		taken = err == nil && d.Blob == name || err != nil && r.Problem(err).Status >= 500
		return v, err
	}, documentAddedBefore)
}

func tooLarge() error {
	return problem.New(http.StatusRequestEntityTooLarge, "the file is larger than 25 MiB: send a smaller one").Closing()
}

// settleType checks the media type and the name that came with the content; where no type did, it is the one that was
// detected.
func settleType(d *model.ApplicationDocument, detected string) error {
	kind, ok := mediaType(d.MediaType)
	if !ok {
		return problem.New(http.StatusUnprocessableEntity,
			"mimeType is no media type: send that of the file, such as application/pdf, or leave it out")
	}
	d.MediaType = cmp.Or(kind, detected)
	return rest.Invalid(d.Validate())
}

// describedDocument reads what the request says about the file.
func describedDocument(r *rest.Request) (*model.ApplicationDocument, error) {
	q, err := r.ReadQueries([]string{"id", "fileName", "description"})
	if err != nil {
		return nil, err
	}
	if len(q["id"]) > 1 || len(q["fileName"]) > 1 {
		return nil, problem.New(http.StatusBadRequest, "id and fileName are of the one document: send each once")
	}
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	d := &model.ApplicationDocument{
		Key: model.NewID(now), Tenant: a.Tenant, Application: a.ID, ID: q.Get("id"), Descriptions: q["description"],
		FileName: q.Get("fileName"), CreatedAt: now,
	}
	if d.ID == "" {
		d.ID = uuid.NewString()
	}
	if strings.ContainsAny(d.FileName, `/\`) {
		return nil, problem.New(http.StatusUnprocessableEntity, "fileName has a folder in it: send the name alone")
	}
	var ok bool
	if d.MediaType, ok = mediaType(r.Header.Get("Content-Type")); !ok {
		return nil, problem.New(http.StatusUnsupportedMediaType,
			"the header Content-Type is no media type: send that of the file, such as application/pdf")
	}
	if d.MediaType == "application/x-www-form-urlencoded" || strings.HasPrefix(d.MediaType, "multipart/") {
		return nil, problem.New(http.StatusUnsupportedMediaType,
			"the header Content-Type says that the body is a form: send the file alone, under its own media type, "+
				"such as application/pdf")
	}
	if d.MediaType == "application/json" && d.FileName != "" {
		return nil, problem.New(http.StatusBadRequest,
			"a Document object has its fileName in it: leave that of the query out")
	}
	return d, rest.Invalid(d.Validate())
}

// mediaType is a media type without its parameters (RFC 9110 section 8.3.1); empty: none is named.
func mediaType(sent string) (kind string, ok bool) {
	if sent == "" {
		return "", true
	}
	kind, _, err := mime.ParseMediaType(sent)
	return kind, err == nil && strings.Contains(kind, "/")
}

// keepDocument writes the document's row.
func keepDocument(r *rest.Request, d *model.ApplicationDocument) (any, error) {
	if d.Size == 0 {
		return nil, problem.New(http.StatusUnprocessableEntity, "the file is empty: send its content as the body")
	}
	r.Created("/v1/tenants", d.Tenant, "job-applications", d.Application, "documents", d.ID)
	err := r.Update(func(tx *store.Tx) error {
		if _, ok, err := tx.LockJobApplication(d.Tenant, d.Application); err != nil || !ok {
			return cmp.Or[error](err, noApplication)
		}
		all, err := tx.ListApplicationDocuments(d.Tenant, d.Application, maxDocuments)
		if err != nil {
			return err
		}
		if len(all) >= maxDocuments {
			return problem.New(http.StatusConflict, "the job application has 100 documents, and takes no more: delete one first")
		}
		added, err := r.Gateway.Runtime.Archive.InsertDocument(tx, d)
		if err == nil && !added {
			return problem.New(http.StatusConflict,
				"the job application has a document of that id: choose another, or delete that one first")
		}
		if err != nil {
			return err
		}
		if err := documents.ClaimUpload(tx, d.Blob); err != nil {
			return err
		}
		return r.Note(tx, r.Location)
	})
	return api.DocumentOf(d), err
}

// documentAddedBefore answers the repeat of a request that added a document.
func documentAddedBefore(r *rest.Request, location string) (any, error) {
	d, err := documentByID(r, r.Repeated(location))
	if err != nil {
		return nil, err
	}
	return api.DocumentOf(d), nil
}

func listDocuments(r *rest.Request) ([]*model.ApplicationDocument, string, error) {
	after, err := r.Page.Number()
	if err != nil {
		return nil, "", err
	}
	a, err := applicationOf(r)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := r.DB.ListApplicationDocuments(r.Context(), a.Tenant, a.ID, after, r.Page.Limit)
	return rows, rest.Numbered(next), err
}

// findDocument returns the document that the path names.
func findDocument(r *rest.Request) (*model.ApplicationDocument, error) {
	return documentByID(r, r.PathValue("document"))
}

// documentByID returns a document of the job application that the path names.
func documentByID(r *rest.Request, id string) (*model.ApplicationDocument, error) {
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	d, err := r.DB.ApplicationDocument(r.Context(), a.Tenant, a.ID, id)
	return d, rest.NotFound(err, noDocument)
}

func deleteDocument(r *rest.Request) (any, error) {
	a, err := applicationOf(r)
	if err != nil {
		return nil, err
	}
	return nil, r.Update(func(tx *store.Tx) error {
		deleted, err := tx.DeleteApplicationDocument(a.Tenant, a.ID, r.PathValue("document"), r.Gateway.Now())
		if err == nil && !deleted {
			return noDocument
		}
		return err
	})
}

var noDocument = problem.New(http.StatusNotFound, "this job application has no document of that id")
