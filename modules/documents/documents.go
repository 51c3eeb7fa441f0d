// Package documents serves the candidates' documents under public URLs of ours.
package documents

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/internal/store"
)

// Server answers GET and HEAD for a document's public URL, whose last path segment is the token.
type Server struct {
	Gateway *gateway.Gateway
	Log     *zap.Logger
}

// ServeHTTP answers 200 with the document, 404 for an unknown URL, 410 for one that has expired or whose document will
// never come, and 503 while it is being fetched.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		problem.MethodNotAllowed(w, "GET, HEAD")
		return
	}
	token := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if token == sample.DocumentToken {
		s.serveSample(w, r)
		return
	}
	hash, ok := documents.HashToken(token)
	if !ok {
		unknown.Write(w)
		return
	}
	d, till, err := s.find(w, r, hash)
	switch now := s.Gateway.Now(); {
	case errors.Is(err, store.ErrNotFound):
		unknown.Write(w)
	case errors.Is(err, store.ErrUnreadable):
		s.Gateway.Runtime.Archive.NoteUnreadable(d, err)
		unread.Write(w)
	case err != nil:
		problem.Unavailable(w)
	case !now.Before(till) && len(d.SourceURL) == 0: // such an export is not redelivered
		problem.New(http.StatusGone, "this document's address has ended: ask for the candidate to be exported again").Write(w)
	case !now.Before(till):
		problem.New(http.StatusGone, "this document's address has ended: ask for the export to be redelivered, or for "+
			"the candidate to be exported again").Write(w)
	case d.State == model.GivenUp && len(d.SourceURL) == 0: // a new export would lack it as well
		problem.New(http.StatusGone, "nobody gets this document: "+d.Reason+"; go on without it").Write(w)
	case d.State == model.GivenUp:
		problem.New(http.StatusGone, "this document could not be had from where it was: ask for a new export").Write(w)
	case d.State == model.Fetching:
		problem.New(http.StatusServiceUnavailable,
			"this document is still being fetched: ask again after the time in Retry-After").
			RetryAfter(min(max(d.NextAt.Sub(now), time.Second), time.Minute)).Write(w)
	case d.State == model.Scanning:
		problem.New(http.StatusServiceUnavailable,
			"this document is still being scanned: ask again after the time in Retry-After").RetryAfter(5 * time.Second).Write(w)
	default:
		s.serve(w, r, d)
	}
}

// find reads the document's row. It holds the database only for that: a slow download must not delay a reload that
// opens another one, or the end of the process.
func (s *Server) find(w http.ResponseWriter, r *http.Request, hash [32]byte) (*model.Document, time.Time, error) {
	release, ok := s.Gateway.Hold(w)
	if !ok {
		return nil, time.Time{}, gateway.ErrNotOpen
	}
	defer release()
	return s.Gateway.Runtime.Store().DocumentByLink(r.Context(), hash)
}

var (
	unknown = problem.New(http.StatusNotFound, "there is no document at this address")
	unread  = problem.New(http.StatusServiceUnavailable,
		"this document can't be read now: ask again later").RetryAfter(time.Minute)
)

// serveSample serves the document of test exports.
func (s *Server) serveSample(w http.ResponseWriter, r *http.Request) {
	content, mimeType, fileName := sample.Resume()
	if err := documents.Serve(w, r, documents.WholeOf(content), mimeType, fileName); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, d *model.Document) {
	content, err := s.Gateway.Runtime.Archive.Files.OpenWhole(d.Blob, d.Size, d.SHA256)
	if err != nil {
		s.Gateway.Runtime.Archive.NoteUnreadable(d, err)
		unread.Write(w)
		return
	}
	defer content.Close()
	if err := documents.Serve(w, r, content, d.MediaType(), d.FileName); err != nil {
		switch {
		case errors.Is(err, store.ErrUnreadable):
			s.Gateway.Runtime.Archive.NoteUnreadable(d, err)
		case r.Context().Err() == nil:
			s.Log.Warn("a document was cut off", zap.Int64("document", d.ID), zap.Error(err))
		}
		panic(http.ErrAbortHandler) // otherwise a compressing middleware would end it as complete
	}
	if r.Method == http.MethodGet {
		s.Gateway.Runtime.Archive.NoteRead(d)
	}
}
