// Package console is the web console: people see what became of every export, and act. It signs people in as any
// application does, and asks the management API in the same process for everything it shows and changes.
package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/oidcclient"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/session"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// Console is the console at one address. Make it with New.
type Console struct {
	Gateway *gateway.Gateway
	URL     string // its address as browsers reach it: https, without a slash at the end
	Title   string // the service, for people
	// Environment is shown beside the title, such as production; empty: nothing is.
	Environment string
	API         http.Handler
	Issuer      *oidcclient.Provider
	Own         bool                       // the issuer is this gateway's own sign-in, and the console its OwnClient
	Vault       *vault.Vault               // seals the cookies
	Grants      []Grant                    // see grants
	Address     func(*http.Request) string // where a request comes from
	Log         *zap.Logger

	guard    *http.CrossOriginProtection
	cookie   string // of the session; those of visits begin with it
	mount    string // the path of URL, escaped
	mux      *http.ServeMux
	counts   *sync.Map     // needCounts by the tenant that visitors see; empty: all
	patience time.Duration // how long a page waits for a place
}

// The addresses of sign-in, below the console's.
const (
	signInPath   = "/sign-in"
	callbackPath = "/callback"
	signOutPath  = "/sign-out"
	logoutPath   = "/backchannel-logout"
)

// New completes a console.
func New(c Console) (*Console, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(c.URL))
	c.cookie = "__Host-console-" + hex.EncodeToString(sum[:4]) // sites of one host don't share it
	c.mount, c.guard, c.mux = u.EscapedPath(), http.NewCrossOriginProtection(), http.NewServeMux()
	c.counts, c.patience = new(sync.Map), pagePatience
	c.mux.HandleFunc("GET "+signInPath, gateway.IdleHead(c.signIn))
	c.mux.HandleFunc("GET "+callbackPath, gateway.IdleHead(c.callback))
	c.mux.HandleFunc("POST "+signOutPath, c.signOut)
	c.mux.HandleFunc("POST "+logoutPath, c.backChannelLogout)
	c.mux.HandleFunc("GET "+portalPath, gateway.IdleHead(c.enterPortal))
	c.mux.HandleFunc("GET /style.css", serveFile("text/css; charset=utf-8", style))
	c.mux.HandleFunc("GET /icon.svg", serveFile("image/svg+xml", icon))
	for _, p := range routes {
		for _, pattern := range append(p.within(), p.pattern) {
			c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, p) })
		}
	}
	return &c, nil
}

// route is a page, or the action of a form. A visitor without its duties gets 403; 0 needs none.
type route struct {
	pattern string
	duties  duty
	serve   handler
}

var routes = []route{
	{"GET /{$}", 0, showStart},
	{"POST /find", 0, find},
	{"POST /causes/{cause}/retry", operates, retryCause},
	{"POST /causes/{cause}/acknowledge", operates, acknowledgeCause},
	{"POST /causes/{cause}/count", operates, countCause},
	{"GET /exports", 0, listExports},
	{"POST /exports/search", operates, seekAnswer},
	{"GET /exports/{tenant}/{uuid}", 0, showExport},
	{"GET /exports/{tenant}/{uuid}/attempts/{integration}/{round}/{number}", 0, showForClient},
	{"POST /exports/{tenant}/{uuid}/body", reads, showBody},
	{"POST /exports/{tenant}/{uuid}/redeliver", redelivers, actOnExport("redeliver")},
	{"POST /exports/{tenant}/{uuid}/release", operates, actOnExport("release")},
	{"POST /exports/{tenant}/{uuid}/fetch", operates, actOnExport("fetch")},
	{"POST /exports/{tenant}/{uuid}/erase", operates, actOnExport("erase")},
	{"GET /integrations", 0, listIntegrations},
	{"GET /tenants", oversees, listTenants},
	{"GET /connect", administers, newClient},
	{"POST /connect", administers, addTenant},
	{"GET /connect/{tenant}", administers, resumeConnect},
	{"GET /connect/{tenant}/1", administers, connectInbound},
	{"GET /connect/{tenant}/2", administers, connectReceiver},
	{"POST /connect/{tenant}/2", administers, addIntegration},
	{"POST /connect/{tenant}/earlier", administers, deliverEarlier},
	{"GET /connect/{tenant}/3", administers, connectSample},
	{"POST /connect/{tenant}/3", administers, sendSample},
	{"GET /tenants/{tenant}", 0, showTenant},
	{"GET /tenants/{tenant}/portal", operates, showPortal},
	{"POST /tenants/{tenant}/portal", operates, openPortal},
	{"POST /tenants/{tenant}/portals/{id}/revoke", operates, revokePortal},
	{"GET /tenants/{tenant}/new-integration", administers, newIntegration},
	{"POST /tenants/{tenant}/new-integration", administers, addIntegration},
	{"GET /tenants/{tenant}/integrations/{name}", 0, showIntegration},
	{"GET /tenants/{tenant}/integrations/{name}/edit", administers, editIntegration},
	{"POST /tenants/{tenant}/integrations/{name}/edit", administers, saveIntegration},
	{"POST /tenants/{tenant}/integrations/{name}/remove", administers, removeIntegration},
	{"POST /tenants/{tenant}/integrations/{name}/enable", administers, actOnIntegration("enable")},
	{"POST /tenants/{tenant}/integrations/{name}/disable", administers, actOnIntegration("disable")},
	{"POST /tenants/{tenant}/integrations/{name}/retry", operates, actOnIntegration("retry")},
	{"POST /tenants/{tenant}/integrations/{name}/test", administers, testIntegration},
	{"GET /tenants/{tenant}/relay", administers, showRelay},
	{"POST /tenants/{tenant}/relay", administers, saveRelay},
	{"POST /tenants/{tenant}/relay/remove", administers, removeRelay},
	{"POST /tenants/{tenant}/zone", administers, saveZone},
	{"POST /tenants/{tenant}/labels", administers, saveLabels},
	{"POST /tenants/{tenant}/secrets", administers, addSecret},
	{"POST /tenants/{tenant}/secrets/{number}/end", administers, endSecret},
	{"POST /tenants/{tenant}/secrets/{number}/keep", administers, keepSecret},
	{"POST /tenants/{tenant}/keys", administers, addKey},
	{"POST /tenants/{tenant}/keys/{id}/revoke", administers, revokeKey},
	{"POST /tenants/{tenant}/subscriptions", administers, addSubscription},
	{"POST /tenants/{tenant}/subscriptions/{name}/{action}", administers, actOnSubscription},
	{"GET /redeliveries", oversees, listRedeliveries},
	{"POST /redeliveries", operates, startRedelivery},
	{"GET /redeliveries/{tenant}/{id}", oversees, showRedelivery},
	{"POST /redeliveries/{tenant}/{id}/{action}", operates, actOnRedelivery},
	{"GET /submissions", oversees, listSubmissions},
	{"POST /submissions", oversees, seekSubmission},
	{"GET /submissions/{tenant}/{id}", oversees, showSubmission},
	{"POST /submissions/{tenant}/{id}/redeliver", redelivers, actOnSubmission("redeliver")},
	{"POST /submissions/{tenant}/{id}/resolve", redelivers, actOnSubmission("resolve")},
	{"POST /submissions/{tenant}/{id}/erase", operates, actOnSubmission("erase")},
	{"POST /submissions/{tenant}/{id}/answers", recruits, showSubmissionAnswers},
	{"GET /submissions/{tenant}/{id}/files", recruits, downloadSubmission},
	{"GET /audit", oversees, listAudit},
	{"GET /candidates", recruits, listCandidates},
	{"POST /candidates", recruits, seekCandidate},
	{"GET /candidates/{tenant}/{id}", recruits, showCandidate},
	{"POST /candidates/{tenant}/{id}/exports", recruits, exportCandidate},
	{"POST /candidates/{tenant}/{id}/fields", recruits, saveFields},
	{"POST /candidates/{tenant}/{id}/applications/{application}/step", recruits, enterStep},
	{"POST /candidates/{tenant}/{id}/applications/{application}/end", recruits, endApplication},
	{"POST /candidates/{tenant}/{id}/applications/{application}/reopen", recruits, reopenApplication},
	{"POST /candidates/{tenant}/{id}/applications/{application}/choose", recruits, chooseVersion},
	{"POST /candidates/{tenant}/{id}/applications/{application}/start-date", recruits, saveStartDate},
	{"POST /candidates/{tenant}/{id}/applications/{application}/keep", recruits, saveKeep},
	{"POST /candidates/{tenant}/{id}/applications/{application}/answers", recruits, showAnswers},
	{"GET /candidates/{tenant}/{id}/applications/{application}/files", recruits, downloadFiles},
	{"GET /candidates/{tenant}/{id}/applications/{application}/files/{document}", recruits, downloadFile},
	{"POST /candidates/erase", recruits, eraseCandidates},
	{"POST /candidates/{tenant}/{id}/erase", recruits | operates, eraseExports},
	{"GET /job-applications", recruits, listApplications},
	{"GET /job-applications.csv", recruits, downloadApplications},
	{"GET /steps/{tenant}", recruits, listSteps},
	{"POST /steps/{tenant}", recruits, addStep},
	{"POST /steps/{tenant}/{step}", recruits, changeStep},
	{"POST /steps/{tenant}/{step}/remove", recruits, removeStep},
	{"POST /steps/{tenant}/{step}/helper", administers, setHelper},
	{"POST /steps/{tenant}/{step}/helper/remove", administers, removeHelper},
	{"GET /jobs", recruits, listJobs},
	{"GET /jobs/{tenant}/{id}", recruits, showJob},
	{"POST /jobs/{tenant}/{id}", recruits, saveJob},
	{"POST /jobs/{tenant}/{id}/check", recruits, checkJob},
	{"GET /people", administers, listPeople},
	{"POST /people", administers, addPerson},
	{"POST /people/search", administers, findPerson},
	{"GET /people/{id}", administers, showPerson},
	{"POST /people/{id}", administers, editPerson},
	{"POST /people/{id}/{action}", administers, actOnPerson},
	{"GET /applications", administers, listClients},
	{"POST /applications", administers, addClient},
	{"GET /applications/{id}", administers, showClient},
	{"POST /applications/{id}", administers, editClient},
	{"POST /applications/{id}/{action}", administers, actOnClient},
	{"/", 0, func(*visitor) error { return errNotFound }},
}

// ServeHTTP serves the console. The path of the console's address is taken off before.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case gateway.LeadsAway(r): // by dots, to a page that was not asked for
		c.fail(w, r, nil, errNotFound)
		return
	case r.URL.Path == "" || r.URL.Path == "/" && gateway.OriginalPath(r) == c.mount:
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/", ""
	// which the mux would redirect
	case path.Clean(r.URL.EscapedPath()) != r.URL.EscapedPath() && !startWithin(r.URL.EscapedPath()):
		c.fail(w, r, nil, errNotFound)
		return
	}
	if err := c.guard.Check(r); err != nil { // a form of another site
		c.fail(w, r, nil, errForeign)
		return
	}
	release, ok := c.Gateway.Hold(w)
	if !ok {
		c.fail(w, r, nil, errAway)
		return
	}
	defer release()
	r.Body = http.MaxBytesReader(w, r.Body, c.mostOf(r))
	c.mux.ServeHTTP(w, r)
}

// The bounds of the bodies of forms, in bytes. A form with credentials may have 384 KiB of PEM, which the encoding of forms
// makes three times as long at most.
const (
	maxForm            = 64 << 10
	maxCredentialsForm = 1536 << 10
)

// credentialsForms are the patterns of the routes that take credentials.
var credentialsForms = []string{"POST /tenants/{tenant}/new-integration", "POST /connect/{tenant}/2",
	"POST /tenants/{tenant}/integrations/{name}/edit"}

// mostOf bounds the body of a request. One of more than maxForm is read by routes alone that take it, from those who may
// use them.
func (c *Console) mostOf(r *http.Request) int64 {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		return maxUpload
	}
	if _, pattern := c.mux.Handler(r); slices.Contains(credentialsForms, strings.Replace(pattern, inPath, "", 1)) {
		return maxCredentialsForm
	}
	return maxForm
}

// handler answers a request of a visitor, with a page or by leading them on.
type handler func(*visitor) error

// visitor is the request of a person who is signed in.
type visitor struct {
	*http.Request
	w       http.ResponseWriter
	console *Console
	person  model.Person
	duties  duty
	role    string // of Roles; empty: they came by a link
	mount   string // begins the addresses of their pages; empty: nobody is signed in
	grants  grants // that give them their roles
	portal  bool   // they came by a link, and are not signed in
	email   string
	issuer  string // where they signed in; subject is who they are there
	subject string
	user    string // their id at our own sign-in; empty: they signed in elsewhere
	texts   *texts
	fresh   bool   // what is put must not be there yet
	version string // that the form shows of what it changes; empty: any
	etag    string // of the last answer of the management API; empty: it had none
}

// serve answers a request. Those who are not signed in go to sign in, and come back. So do those whose role has
// changed.
func (c *Console) serve(w http.ResponseWriter, r *http.Request, to route) {
	s, err := c.caller(r)
	if err == nil && s != nil && s.Portal == nil && s.Role != c.roleOf(&s.Session) {
		err = c.site().Delete(r, &s.Session)
		s = nil
	}
	switch {
	case err != nil:
		c.fail(w, r, nil, err)
		return
	case s == nil:
		c.toSignIn(w, r)
		return
	}
	who, err := c.standingOf(s, r)
	if errors.Is(err, errNowhere) {
		err = c.toFirst(w, r, who.grants)
		if err == nil {
			return
		}
	}
	if err != nil {
		c.fail(w, r, nil, err)
		return
	}
	v := &visitor{Request: r, w: w, console: c, person: who.Person, duties: who.duties, role: who.role, mount: who.mount,
		grants: who.grants, portal: s.Portal != nil, email: s.Email, issuer: s.Issuer, subject: s.Subject, texts: textsFor(r)}
	if v.portal {
		v.texts = v.texts.forPartner()
	}
	if s.Ours() {
		v.user = s.Subject
	}
	if err := v.answer(to); err != nil {
		c.fail(w, r, v, err)
	}
}

// answer has a route answer those who may use it, and reads no form of others. For people of one tenant, no other exists.
func (v *visitor) answer(to route) error {
	of := v.PathValue("tenant")
	foreign := func() bool { return v.person.Tenant != "" && of != "" && of != v.person.Tenant }
	switch {
	case foreign():
		return errNotFound
	case to.duties&^v.duties != 0:
		return errNotAllowed
	}
	if err := v.ParseForm(); err != nil {
		return unreadable(err)
	}
	if of = cmp.Or(of, v.Form.Get("tenant")); foreign() {
		return errNotFound
	}
	places := v.console.Gateway.Runtime.Pages
	if !places.Acquire(v.Context(), v.person.ID, 1, v.console.patience) {
		v.w.Header().Set("Retry-After", problem.Seconds(busyFor))
		return errBusy
	}
	defer places.Release(v.person.ID, 1)
	v.version = v.PostFormValue("version")
	return to.serve(v)
}

const (
	pagePatience = 10 * time.Second // how long a page waits while too many of the same person are made
	busyFor      = 5 * time.Second  // then they may try again
)

// unreadable returns why a form can't be read.
func unreadable(err error) *failure {
	switch large := new(http.MaxBytesError); {
	case !errors.As(err, &large):
		return errUnreadable
	case large.Limit == maxCredentialsForm:
		return &failure{status: http.StatusRequestEntityTooLarge, Text: "CredentialsTooLarge"}
	default: // the site may have a limit of its own
		return &failure{status: http.StatusRequestEntityTooLarge, Text: "FormTooLarge"}
	}
}

// redirect leads the browser on to a page of the console, with a GET.
func (v *visitor) redirect(to string) error {
	session.Redirect(v.w, v.Request, v.mount+to)
	return nil
}

// failure is an error that a page shows.
type failure struct {
	status int
	Text   string // the key of its text
	Detail string // in English, from the management API; empty: the text says it all
	// Transcript is the answer to a VERIFY event that made the management API refuse something; nil: there is none.
	Transcript *api.Transcript
}

func (f *failure) Error() string { return f.Text + ": " + f.Detail }

var (
	errNotFound   = &failure{status: http.StatusNotFound, Text: "NotFound"}
	errNotAllowed = &failure{status: http.StatusForbidden, Text: "NotAllowed"}
	errUnreadable = &failure{status: http.StatusBadRequest, Text: "Unreadable"}
	errChanged    = &failure{status: http.StatusPreconditionFailed, Text: "ChangedMeanwhile"}
	errForeign    = &failure{status: http.StatusForbidden, Text: "Foreign"}
	errStranger   = &failure{status: http.StatusForbidden, Text: "Stranger"}
	errNowhere    = errors.New("the address names no tenant")
	errNoClient   = &failure{status: http.StatusForbidden, Text: "NoLabelledClient"}
	errNoVisit    = &failure{status: http.StatusBadRequest, Text: "SignInFailedNoCookie"}
	errOtherKey   = &failure{status: http.StatusBadRequest, Text: "SignInFailedKey"}
	errLate       = &failure{status: http.StatusBadRequest, Text: "SignInFailedLate"}
	errDeclined   = &failure{status: http.StatusForbidden, Text: "SignInDeclined"}
	errPortal     = &failure{status: http.StatusForbidden, Text: "PortalEnded"}
	errUpstream   = &failure{status: http.StatusBadGateway, Text: "UpstreamFailed"}
	errAuthority  = &failure{status: http.StatusBadGateway, Text: "UpstreamAuthority"}
	errOwnAccount = &failure{status: http.StatusForbidden, Text: "OwnAccount"}
	errBusy       = &failure{status: http.StatusServiceUnavailable, Text: "TooManyPages"}
	errAway       = &failure{status: http.StatusServiceUnavailable, Text: "Away"}
	errBroken     = &failure{status: http.StatusInternalServerError, Text: "Broken"}
)

// fail shows an error. v is nil where nobody is signed in.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, v *visitor, err error) {
	f := errBroken
	switch {
	case errors.As(err, &f):
	case errors.Is(err, store.ErrUnavailable):
		f = errAway
		fallthrough
	default:
		c.Log.Error("a page of the console can't be shown", zap.String("page", r.Pattern), zap.Error(err))
	}
	if v == nil {
		v = &visitor{Request: r, w: w, console: c, texts: textsFor(r)}
	}
	v.show(f.status, "failure", "FailureTitle", f)
}
