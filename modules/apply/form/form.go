// Package form serves the application form of a career site: a page for each job, made from the job's questions, which
// needs no script and no cookie. What it takes in becomes the body of POST /v2/application (contract, part C).
package form

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/password"
	"github.com/hiregate/hiregate/internal/problem"
)

// Applications knows what jobs ask, and takes in what applicants answer.
type Applications interface {
	// OpenJob returns a job that takes applications, with the questions of its compliance groups; nil: there is none.
	OpenJob(ctx context.Context, tenant, code string) (*model.Job, error)
	// Notice returns what applicants read before the questions of a compliance group; false: nothing is known of the group.
	Notice(ctx context.Context, tenant, group string) (model.ComplianceNotice, bool)
	// AcceptForm stores an application durably. The body is that of POST /v2/application. The same key with the same body
	// gives the receipt of the first. Errors: *Refused, ErrOtherBody.
	AcceptForm(w http.ResponseWriter, r *http.Request, a Application) (receipt string, err error)
	// Standing returns how the application with a receipt stands.
	Standing(ctx context.Context, tenant, receipt string) (Standing, error)
}

// Standing is how an application stands, as its applicant is told.
type Standing int

const (
	Unknown    Standing = iota // there is no application with this receipt, or it was erased
	Received                   // it is stored
	PassedOn                   // the service that it is relayed to has it
	LookedInto                 // the service does not want it, or was away for too long: somebody looks into it
)

// Application is an application that a form takes in.
type Application struct {
	Tenant, Key string
	Suspected   string // why a person should look at it first; empty: nothing is suspicious
	Body        io.Reader
}

// ErrOtherBody is the error for a key that was sent with another body before.
var ErrOtherBody = errors.New("the key of the form was sent with other answers before")

// Refused says why an application is not accepted.
type Refused struct {
	Status int
	After  time.Duration // when to try again; 0: not
	Wrong  []model.InvalidAnswer
	Closed bool   // there is no such job, or it is closed
	Said   string // what the service said that refused it; empty: it was not asked
}

func (r *Refused) Error() string { return "the application is refused: " + http.StatusText(r.Status) }

// Form serves the forms of a tenant's jobs, below any path, which is stripped before. Make it with New.
type Form struct {
	Applications Applications
	Gateway      *gateway.Gateway
	Tenant       string
	Look         Look
	// Origins lists the origins of pages that may show the form in a frame, send to it, and be returned to.
	Origins []string
	// Privacy and Jobs are addresses of the career site: how applications are used, and its other jobs. Either may be empty.
	Privacy, Jobs string
	// Source is where an application comes from if the address of the form does not say.
	Source  string
	Guards  *Guards
	Address func(*http.Request) string
	Log     *zap.Logger

	mux   *http.ServeMux
	style style
}

// New completes a Form.
func New(f Form) *Form {
	address := f.Address
	f.Address = func(r *http.Request) string { return password.NetworkOf(address(r)) } // of IPv6 one sender has all of a /64
	f.mux, f.style = http.NewServeMux(), f.Look.style()
	f.mux.HandleFunc("GET /receipts/{receipt}", f.held(f.receipt))
	f.mux.HandleFunc("GET /logo", f.logo)
	f.mux.HandleFunc("GET /{job}", f.held(f.ask))
	f.mux.HandleFunc("POST /{job}", f.held(f.take))
	f.mux.HandleFunc("GET /", f.closed)
	return &f
}

// ServeHTTP implements http.Handler.
func (f *Form) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if gateway.LeadsAway(r) || strings.Contains(r.URL.EscapedPath(), "//") {
		f.closed(w, r)
		return
	}
	f.mux.ServeHTTP(w, r)
}

// held answers while the store is open.
func (f *Form) held(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		release, ok := f.Gateway.Hold(w)
		if !ok {
			f.away(w, r, nil)
			return
		}
		defer release()
		serve(w, r)
	}
}

// ask shows the empty form of a job.
func (f *Form) ask(w http.ResponseWriter, r *http.Request) {
	job, ok := f.job(w, r)
	if !ok {
		return
	}
	s := &sent{once: uuid.NewString(), source: clipped(r.URL.Query().Get("source")), returnTo: f.returnTo(r.URL.Query().Get("return_to"))}
	f.show(w, r, http.StatusOK, f.formPage(r, job, s, nil))
}

// job returns the open job that a request names. Otherwise it has answered.
func (f *Form) job(w http.ResponseWriter, r *http.Request) (*model.Job, bool) {
	job, err := f.Applications.OpenJob(r.Context(), f.Tenant, r.PathValue("job"))
	switch {
	case err != nil:
		f.away(w, r, err)
		return nil, false
	case job == nil:
		f.closed(w, r)
		return nil, false
	}
	return job, true
}

// take takes in a form that was sent.
func (f *Form) take(w http.ResponseWriter, r *http.Request) {
	switch {
	case !f.mayPost(r):
		f.message(w, r, http.StatusForbidden, func(t *texts) *message { return &message{Title: t.ForeignTitle, Lines: []string{t.Foreign}} })
		return
	case !f.Guards.visits.Allow(f.Address(r), f.Gateway.Now()):
		f.busy(w, r)
		return
	}
	place := f.Guards.reading.begin(w, f.Address(r), f.Gateway.Now())
	if place == nil {
		f.busy(w, r)
		return
	}
	defer place.leave()
	job, ok := f.job(w, r)
	if !ok {
		return
	}
	s, err := f.read(w, r, job, place)
	if !place.arrived() {
		f.busy(w, r)
		return
	}
	if err != nil {
		f.unread(w, r, err)
		return
	}
	if len(s.wrong) == 0 {
		receipt, err := f.accept(w, r, job, s)
		refused := new(Refused)
		switch {
		case err == nil:
			f.discard(r, s)
			f.thank(w, r, job, s, receipt)
			return
		case !errors.As(err, &refused):
			f.away(w, r, err)
			return
		case refused.Closed:
			f.closed(w, r)
			return
		case len(refused.Wrong) == 0 && refused.Said != "":
			f.message(w, r, http.StatusUnprocessableEntity, func(t *texts) *message {
				return &message{Title: t.RefusedTitle, Lines: []string{fill(t.Refused, "sentence", refused.Said)}}
			})
			return
		case len(refused.Wrong) == 0:
			f.retry(w, r, refused)
			return
		}
		s.refuse(job, refused.Wrong, refused.Said != "")
		if len(s.wrong) == 0 { // about questions that the form does not have
			f.closed(w, r)
			return
		}
	}
	f.show(w, r, http.StatusUnprocessableEntity, f.formPage(r, job, s, s.wrong))
}

// accept passes on what was sent. With other answers than before under the same key, which is "back" and a change, it is
// a further application.
func (f *Form) accept(w http.ResponseWriter, r *http.Request, job *model.Job, s *sent) (string, error) {
	a := Application{Tenant: f.Tenant, Key: s.once}
	switch {
	case s.trapped:
		a.Suspected = "a field was filled in that people don't see"
	case !f.Guards.jobs.Allow(f.Tenant+" "+job.BoardCode, f.Gateway.Now()):
		a.Suspected = "very many applications for this job came in a short time"
	}
	for {
		body := f.body(job, s)
		a.Body = body
		receipt, err := f.Applications.AcceptForm(w, r, a)
		body.Close()
		if !errors.Is(err, ErrOtherBody) || a.Key != s.once {
			return receipt, err
		}
		a.Key = s.once + "." + s.fingerprint()
	}
}

// discard removes the files that were kept for an application that is stored.
func (f *Form) discard(r *http.Request, s *sent) {
	var names []string
	for _, file := range s.files {
		names = append(names, file.blob)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer cancel()
	if err := f.archive().DiscardUploads(ctx, names); err != nil {
		f.Log.Warn("the kept files of an application could not be removed yet", zap.Error(err))
	}
}

func (f *Form) archive() *documents.Archive { return f.Gateway.Runtime.Archive }

// thank says that an application is stored, or returns to the career site.
func (f *Form) thank(w http.ResponseWriter, r *http.Request, job *model.Job, s *sent, receipt string) {
	if s.returnTo != "" && !isFramed(r) {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, s.returnTo, http.StatusSeeOther)
		return
	}
	f.message(w, r, http.StatusOK, func(t *texts) *message {
		return &message{OK: true, Title: fill(t.ThanksTitle, "name", s.text("firstName")), Page: fill(t.SentTitle, "job", f.titleOf(job)),
			Lines: []string{fill(t.Thanks, "job", f.titleOf(job), "site", f.Look.name(t))}, Receipt: receipt,
			ReceiptURL: f.mount(r) + "/receipts/" + url.PathEscape(receipt), ReturnTo: s.returnTo}
	})
}

// receipt says how an application stands, and nothing personal.
func (f *Form) receipt(w http.ResponseWriter, r *http.Request) {
	standing, err := f.Applications.Standing(r.Context(), f.Tenant, r.PathValue("receipt"))
	switch {
	case err != nil:
		f.away(w, r, err)
	case standing == Unknown:
		f.message(w, r, http.StatusNotFound, func(t *texts) *message { return &message{Title: t.NoReceiptTitle, Lines: []string{t.NoReceipt}} })
	default:
		f.message(w, r, http.StatusOK, func(t *texts) *message {
			title, line := t.ReceivedTitle, t.Received
			switch standing {
			case PassedOn:
				title, line = t.PassedOnTitle, t.PassedOn
			case LookedInto:
				title, line = t.LookedIntoTitle, t.LookedInto
			}
			return &message{OK: standing != LookedInto, Title: title, Lines: []string{fill(line, "site", f.Look.name(t))}}
		})
	}
}

// closed answers an address that is no open job's.
func (f *Form) closed(w http.ResponseWriter, r *http.Request) {
	f.message(w, r, http.StatusNotFound, func(t *texts) *message { return &message{Title: t.ClosedTitle, Lines: []string{t.Closed}, Jobs: true} })
}

// away answers while what a job asks can't be read. err, which may be nil, is logged if it is ours: that a service is away
// is said where it was asked, and strangers must not fill the disk.
func (f *Form) away(w http.ResponseWriter, r *http.Request, err error) {
	if _, said := errors.AsType[*problem.Problem](err); err != nil && !said && r.Context().Err() == nil {
		f.Log.Error("the application form could not answer", zap.Error(err))
	}
	w.Header().Set("Retry-After", "60")
	f.message(w, r, http.StatusServiceUnavailable, func(t *texts) *message {
		if r.Method == http.MethodPost {
			return &message{Title: t.AwayTitle, Lines: []string{t.AwaySent}}
		}
		return &message{Title: t.AwayTitle, Lines: []string{t.Away}, Again: 60}
	})
}

// busy answers a request that is one too many.
func (f *Form) busy(w http.ResponseWriter, r *http.Request) {
	f.retry(w, r, &Refused{Status: http.StatusTooManyRequests, After: time.Minute})
}

// retry asks to send the same once more: nothing was stored.
func (f *Form) retry(w http.ResponseWriter, r *http.Request, refused *Refused) {
	if refused.After > 0 {
		w.Header().Set("Retry-After", problem.Seconds(refused.After))
	}
	f.message(w, r, refused.Status, func(t *texts) *message { return &message{Title: t.BusyTitle, Lines: []string{t.Busy}} })
}

// unread answers a form that could not be read.
func (f *Form) unread(w http.ResponseWriter, r *http.Request, err error) {
	large := new(http.MaxBytesError)
	switch {
	case errors.Is(err, errNoForm):
		f.message(w, r, http.StatusUnsupportedMediaType, func(t *texts) *message { return &message{Title: t.BrokenTitle, Lines: []string{t.Broken}} })
	case errors.As(err, &large):
		f.message(w, r, http.StatusRequestEntityTooLarge, func(t *texts) *message { return &message{Title: t.LargeTitle, Lines: []string{t.Large}} })
	case errors.Is(err, errFull), documents.IsFull(err):
		f.retry(w, r, &Refused{Status: http.StatusServiceUnavailable, After: time.Minute})
	case errors.Is(err, errBroken):
		f.message(w, r, http.StatusBadRequest, func(t *texts) *message { return &message{Title: t.BrokenTitle, Lines: []string{t.Broken}} })
	default:
		f.away(w, r, err)
	}
}
