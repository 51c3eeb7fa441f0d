package manageapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/takeout"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// takeOut answers with all that the tenant's service keeps, as an archive that is written while it is read, or with what is
// left of one that broke off.
func takeOut(r *rest.Request) (any, error) {
	var resume *takeout.Place
	if r.Query.Has("from") {
		var err error
		if resume, err = takeout.ParsePlace(r.Query.Get("from")); err != nil {
			return nil, problem.Newf(http.StatusBadRequest, "from is no place in a takeout: %v", err)
		}
	}
	if err := r.AuditAlone(); err != nil {
		return nil, err
	}
	from := takeout.Source{Store: r.DB, Files: r.Gateway.Runtime.Archive.Files, Tenant: r.Tenant.Name}
	return rest.Stream(func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Content-Type", api.TakeoutType)
		w.Header().Set("Content-Disposition", `attachment; filename="takeout.tar"`)
		return takeout.Write(r.Context(), w, from, resume, r.Now())
	}), nil
}

// importTime is how long an archive may come in.
const importTime = 12 * time.Hour

// importArchive brings an archive in. All of it is read and checked before anything is written; the answer has a line for
// each transaction.
func importArchive(r *rest.Request) (any, error) {
	if _, err := r.ReadQueries(nil); err != nil {
		return nil, err
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != api.TakeoutType && kind != api.LinesType {
		return nil, problem.Newf(http.StatusUnsupportedMediaType, "send an archive with the header Content-Type: %s, or NDJSON "+
			"without files with %s", api.TakeoutType, api.LinesType)
	}
	scratch, err := r.Gateway.Runtime.Archive.Files.Scratch()
	if err != nil {
		return nil, noRoom(r, err)
	}
	checked, err := checkArchive(r, scratch, kind == api.LinesType)
	if err == nil {
		err = r.AuditAlone()
	}
	if err != nil {
		return nil, errors.Join(err, scratch.Close())
	}
	return rest.Stream(func(w http.ResponseWriter, _ *http.Request) error {
		defer scratch.Close()
		w.Header().Set("Content-Type", api.LinesType)
		return writeArchive(r, w, checked)
	}), nil
}

func checkArchive(r *rest.Request, scratch *documents.Scratch, lines bool) (*takeout.Archive, error) {
	done := bodies.Within(r.Writer, importTime)
	size, err := io.Copy(io.NewOffsetWriter(scratch, 0), r.Body)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, rest.TooSlow()
	case documents.IsFull(err):
		return nil, noRoom(r, err)
	case err != nil:
		return nil, problem.New(http.StatusBadRequest, "the archive broke off: send it again").Closing()
	}
	done()
	if err := r.AuthenticateAgain(); err != nil {
		return nil, err
	}
	checked, err := takeout.Check(r.Context(), scratch, size, lines, r.Tenant.Name, r.DB, r.Gateway.Now())
	return checked, faulty(err)
}

// faulty returns the problem (422) of an archive that breaks a rule; other errors as they are.
func faulty(err error) error {
	if p := new(problem.Problem); errors.As(rest.Invalid(err), &p) && p.Findings != nil {
		return p
	}
	return err
}

func noRoom(r *rest.Request, err error) error {
	r.Log.Error("an archive could not be kept", zap.Error(err))
	return problem.New(http.StatusServiceUnavailable, "there is no room for the archive beside the documents: make some, and "+
		"send it again").RetryAfter(time.Minute)
}

// writeArchive writes what was checked. What breaks it off is in the last line: what was written stays, and the next import
// goes on from there.
func writeArchive(r *rest.Request, w http.ResponseWriter, checked *takeout.Archive) error {
	out := http.NewResponseController(w)
	var last api.ImportCounts
	line := func(p api.ImportProgress) error {
		raw, err := json.Marshal(p)
		if err == nil {
			_, err = w.Write(append(raw, '\n'))
		}
		return errors.Join(err, out.Flush())
	}
	names := r.Tenant.IntegrationNames()
	err := checked.Import(r.Context(), takeout.Target{Store: r.DB, Archive: r.Gateway.Runtime.Archive,
		List:   r.Gateway.Runtime.Retention.List,
		Serves: func(integration string) bool { return slices.Contains(names, integration) },
	}, func(c api.ImportCounts) error {
		last = c
		return line(api.ImportProgress{ImportCounts: c})
	})
	end := api.ImportProgress{ImportCounts: last, Done: err == nil}
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return err
		}
		end.Fault = r.Problem(err).Detail
	}
	return line(end)
}
