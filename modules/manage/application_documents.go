package manage

import (
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// maxDocuments is how many documents a job application has at most.
const maxDocuments = 100

// applicationDocument is a document of a job application, without its file.
type applicationDocument struct {
	ID           string    `json:"id"`
	Tenant       string    `json:"tenant"`
	Application  string    `json:"jobApplication"`
	FileName     string    `json:"fileName,omitempty"`
	MediaType    string    `json:"mediaType"`
	Descriptions []string  `json:"descriptions"`
	Size         int64     `json:"size"` // in bytes
	SHA256       string    `json:"sha256"`
	CreatedAt    time.Time `json:"createdAt"`
}

func applicationDocumentOf(d *hiring.ApplicationDocument) applicationDocument {
	return applicationDocument{
		ID: d.ID, Tenant: d.Tenant, Application: d.Application, FileName: d.FileName, MediaType: d.MediaType, Descriptions: d.Descriptions,
		Size: d.Size, SHA256: hex.EncodeToString(d.SHA256), CreatedAt: d.CreatedAt,
	}
}

// application is the job application that the path names.
func (r *request) application() (*hiring.JobApplication, *problem.Problem) {
	t, p := r.tenant()
	if p != nil {
		return nil, p
	}
	a, err := r.db.JobApplication(r.Context(), t.Name, r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, applications.missing()
	}
	if err != nil {
		return nil, r.storeAway(err)
	}
	return a, nil
}

// addDocument takes a file in, which is the body, and makes it a document of a job application.
func (r *request) addDocument() (any, *problem.Problem) {
	d, p := r.describedDocument()
	if p != nil {
		return nil, p
	}
	if r.ContentLength > documents.MaxSize {
		return nil, tooLarge()
	}
	files := r.gateway.Runtime.Archive.Files
	blob, err := files.Put(r.Context(), r.Body, documents.MaxSize)
	switch {
	case errors.Is(err, documents.ErrTooLarge):
		return nil, tooLarge()
	case errors.Is(err, documents.ErrFull):
		r.log.Error("a document could not be kept", zap.Error(err))
		return nil, problem.New(http.StatusServiceUnavailable, "the disk that holds the documents is full: make room, and send it again").RetryAfter(time.Minute)
	case err != nil && r.Context().Err() == nil:
		r.log.Warn("a document could not be taken in", zap.Error(err))
		fallthrough
	case err != nil:
		return nil, problem.New(http.StatusBadRequest, "the file broke off, or could not be kept: send it again").Closing()
	}
	d.Blob, d.SHA256, d.Size = blob.Name, blob.SHA256[:], blob.Size
	if d.MediaType == "" {
		d.MediaType = blob.Detected
	}
	kept := false
	v, p := r.exactlyOnce(blob.SHA256[:], func() (any, *problem.Problem) {
		v, p := r.keepDocument(d)
		// When the store is away, its row may be there all the same.
		kept = p == nil && d.Blob == blob.Name || p != nil && p.Status >= 500
		return v, p
	})
	if !kept {
		if err := files.Delete(blob.Name); err != nil {
			r.log.Warn("a file that no document needs could not be deleted", zap.Error(err))
		}
	}
	return v, p
}

func tooLarge() *problem.Problem {
	return problem.New(http.StatusRequestEntityTooLarge, "the file is larger than 25 MiB: send a smaller one").Closing()
}

// describedDocument reads what the request says about the file.
func (r *request) describedDocument() (*hiring.ApplicationDocument, *problem.Problem) {
	q, p := r.queryOf("id", "fileName", "description")
	if p != nil {
		return nil, p
	}
	if len(q["id"]) > 1 || len(q["fileName"]) > 1 {
		return nil, problem.New(http.StatusBadRequest, "id and fileName are of the one document: send each once")
	}
	a, p := r.application()
	if p != nil {
		return nil, p
	}
	now := r.gateway.Now().UTC().Truncate(time.Microsecond)
	d := &hiring.ApplicationDocument{
		Key: hiring.NewID(now), Tenant: a.Tenant, Application: a.ID, ID: q.Get("id"), Descriptions: q["description"], FileName: q.Get("fileName"), CreatedAt: now,
	}
	if d.ID == "" {
		d.ID = uuid.NewString()
	}
	if strings.ContainsAny(d.FileName, `/\`) {
		return nil, problem.New(http.StatusUnprocessableEntity, "fileName has a folder in it: send the name alone")
	}
	if sent := r.Header.Get("Content-Type"); sent != "" {
		kind, _, err := mime.ParseMediaType(sent)
		if err != nil || !strings.Contains(kind, "/") {
			return nil, problem.New(http.StatusUnsupportedMediaType, "the header Content-Type is no media type: send that of the file, such as application/pdf")
		}
		d.MediaType = kind
	}
	return d, invalid(d.Check())
}

// keepDocument writes the document's row, unless an earlier try of the request did.
func (r *request) keepDocument(d *hiring.ApplicationDocument) (any, *problem.Problem) {
	if id := r.done(); id != "" {
		before, err := r.db.ApplicationDocument(r.Context(), d.Tenant, d.Application, id)
		if err == nil {
			*d = *before
			return r.madeDocument(d), nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, r.storeAway(err)
		}
	}
	if d.Size == 0 {
		return nil, problem.New(http.StatusUnprocessableEntity, "the file is empty: send its content as the body")
	}
	p := r.write(func(tx *store.Tx) error {
		if _, ok, err := tx.JobApplication(d.Tenant, d.Application); err != nil || !ok {
			return refuse(applications.missing(), err)
		}
		all, err := tx.ApplicationDocuments(d.Tenant, d.Application, maxDocuments)
		if err != nil {
			return err
		}
		if len(all) >= maxDocuments {
			return refused{problem.New(http.StatusConflict, "the job application has 100 documents, and takes no more: delete one first")}
		}
		added, err := tx.AddApplicationDocument(d)
		if err == nil && !added {
			return refused{problem.New(http.StatusConflict, "the job application has a document of that id: choose another, or delete that one first")}
		}
		if err != nil {
			return err
		}
		return r.note(tx, d.ID)
	})
	if p != nil {
		return nil, p
	}
	return r.madeDocument(d), nil
}

func (r *request) madeDocument(d *hiring.ApplicationDocument) applicationDocument {
	r.location = "/v1/tenants/" + d.Tenant + "/job-applications/" + url.PathEscape(d.Application) + "/documents/" + url.PathEscape(d.ID)
	return applicationDocumentOf(d)
}

// listDocuments lists the documents of a job application, in the order they were added.
func (r *request) listDocuments() (any, *problem.Problem) {
	_, page, p := r.page("document")
	if p != nil {
		return nil, p
	}
	after, p := page.number()
	if p != nil {
		return nil, p
	}
	a, p := r.application()
	if p != nil {
		return nil, p
	}
	rows, next, err := r.db.ApplicationDocuments(r.Context(), a.Tenant, a.ID, after, page.limit)
	if err != nil {
		return nil, r.storeAway(err)
	}
	l := listed(page, rows, "", applicationDocumentOf)
	l.Next = page.numbered(next)
	return l, nil
}

func (r *request) showDocument() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	a, p := r.application()
	if p != nil {
		return nil, p
	}
	d, err := r.db.ApplicationDocument(r.Context(), a.Tenant, a.ID, r.PathValue("document"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, noDocument()
	}
	if err != nil {
		return nil, r.storeAway(err)
	}
	return applicationDocumentOf(d), nil
}

// deleteDocument takes a document from its job application. Exports that offer it already still do, until their time is over.
func (r *request) deleteDocument() (any, *problem.Problem) {
	if _, p := r.query(); p != nil {
		return nil, p
	}
	a, p := r.application()
	if p != nil {
		return nil, p
	}
	return nil, r.write(func(tx *store.Tx) error {
		deleted, err := tx.DeleteApplicationDocument(a.Tenant, a.ID, r.PathValue("document"))
		if err == nil && !deleted {
			return refused{noDocument()}
		}
		return err
	})
}

func noDocument() *problem.Problem {
	return problem.New(http.StatusNotFound, "this job application has no document of that id")
}
