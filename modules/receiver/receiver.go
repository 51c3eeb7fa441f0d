// Package receiver receives the candidate export webhook, part B of the contract, on the partner's side.
package receiver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/tracing"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// DefaultMaxBody is the largest body that is read, in bytes, unless configured otherwise.
const DefaultMaxBody = 5 << 20

// DefaultMaxAttachments limits the attachments of an export, unless it is configured.
const DefaultMaxAttachments = 500

// DefaultLimits bound the JSON of a body, unless configured otherwise: far above what the contract needs.
var DefaultLimits = schemas.Limits{Values: 20_000, Items: 2_000}

// readyWithin bounds how long the sender of a VERIFY waits for the database. An export waits less for its write, see
// store.DB.Write.
const readyWithin = 10 * time.Second

// Receiver is the webhook's endpoint. Its checks have an order: method, tenant, cap, signature, event, rate, JSON
// guard, schema, duplicate; a request that fails one costs nothing further.
type Receiver struct {
	Gateway *gateway.Gateway
	Tenant  TenantFrom
	MaxBody int64
	// MaxAttachments limits the attachments of an export. Of an export in quarantine that has more, the first ones are
	// fetched.
	MaxAttachments int
	// Limits bound the JSON of a body.
	Limits schemas.Limits
	// Address reads the address of a request's client.
	Address func(*http.Request) string
	// LogUUID adds the UUID of a request's export to the access log.
	LogUUID func(r *http.Request, uuid string)
	Log     *zap.Logger
}

// ServeHTTP answers a webhook request, or a question about a receipt.
func (h *Receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if receipt, ok := receiptOf(gateway.OriginalPath(r)); ok {
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			h.serveReceipt(w, r, receipt)
			return
		case !h.Tenant.last(r):
			problem.MethodNotAllowed(w, "GET, HEAD")
			metrics.Received(metrics.Unknown, metrics.Unknown, "method")
			return
		}
	}
	in := &intake{Receiver: h, w: w, r: r, began: h.Gateway.Now(), tenantLabel: metrics.Unknown,
		eventLabel: metrics.Unknown}
	result := in.take()
	if result != "" {
		metrics.Received(in.tenantLabel, in.eventLabel, result)
	}
	if result != "" && result != "tenant" && in.tenantLabel != metrics.Unknown {
		in.Gateway.Runtime.Remarks.Received(in.tenantLabel, result, in.Gateway.Now())
	}
	in.noteRefusal(result)
}

// intake takes one webhook request through the checks. A check that refuses writes the answer itself, and returns the
// label under which it is counted.
type intake struct {
	*Receiver
	w     http.ResponseWriter
	r     *http.Request
	began time.Time

	tenant                  *model.Tenant
	body                    []byte
	signed                  bool              // by the service: its signature matches
	refused                 *problem.Problem  // nil: it was not
	faults                  []schemas.Finding // for which it was refused
	deviations              []schemas.Finding // of the export, from the contract
	tenantLabel, eventLabel string
}

func (in *intake) take() (result string) {
	if in.r.Method != http.MethodPost {
		problem.MethodNotAllowed(in.w, http.MethodPost)
		return "method"
	}
	name := in.Tenant.of(in.r)
	tenant, ok := in.Gateway.Config.Tenant(name)
	if !ok {
		return in.refuse("tenant", noTenant())
	}
	in.tenantLabel = tenant.Name
	body, result := in.read(name)
	if result != "" {
		return result
	}
	defer body.Release()
	in.body = body.Bytes()
	if in.tenant, ok = in.inForce().Tenant(name); !ok { // it was removed while the body arrived
		return in.refuse("tenant", noTenant())
	}
	names := in.Gateway.Config.Names
	now := in.Gateway.Now()
	number := webhook.Match(header(in.r, names.Signature), in.body, in.tenant.SigningKeysAt(now)...)
	in.Gateway.Runtime.Signatures.Note(in.tenant, number, now)
	if number == 0 {
		return in.refuse("signature", problem.New(http.StatusUnauthorized,
			"the signature is missing or does not match: send the hex HMAC-SHA256 of the raw body, made with this "+
				"tenant's secret, in "+names.Signature))
	}
	in.signed = true
	release, ok := in.Gateway.Hold(in.w)
	if !ok {
		problem.Unavailable(in.w)
		return "unavailable"
	}
	defer release()
	switch header(in.r, names.Event) {
	case webhook.EventVerify:
		in.eventLabel = webhook.EventVerify
		return in.verify()
	case webhook.EventExport:
		in.eventLabel = webhook.EventExport
		return in.export()
	}
	return in.refuse("event", problem.New(http.StatusBadRequest,
		"the header "+names.Event+" must be "+webhook.EventExport+" or "+webhook.EventVerify))
}

func noTenant() *problem.Problem {
	return problem.New(http.StatusNotFound,
		"nobody receives exports at this address: check the identifier in the URL").Closing()
}

// inForce returns the configuration that is in force now: the request's own may have been replaced since.
func (h *Receiver) inForce() *config.Config {
	return cmp.Or(h.Gateway.Runtime.InForce.Current(), h.Gateway.Config)
}

func (in *intake) refuse(result string, p *problem.Problem) string {
	in.refused = p
	p.Write(in.w)
	return result
}

// busyFor is the time after which a sender may retry whose body found no memory.
const busyFor = 5 * time.Second

func tooBusy() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable,
		"too many bodies are coming in at once: send this one again after the time in Retry-After").RetryAfter(busyFor)
}

// read reads the body of a tenant's request, up to the cap.
func (in *intake) read(tenant string) (body *bodies.Body, result string) {
	tooLarge := problem.New(http.StatusRequestEntityTooLarge, "the body is larger than this address takes").Closing()
	if in.r.ContentLength > in.MaxBody {
		return nil, in.refuse("too_large", tooLarge)
	}
	if gateway.Encoded(in.r.Header) {
		return nil, in.refuse("encoding", problem.New(http.StatusUnsupportedMediaType,
			"send the body as it is, without Content-Encoding").Closing())
	}
	body, err := in.Gateway.Runtime.Unverified.Read(in.w, in.r,
		bodies.Sender{Tenant: tenant, Address: in.Address(in.r)}, in.MaxBody)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, in.refuse("too_large", tooLarge)
	case errors.Is(err, bodies.ErrBusy):
		return nil, in.refuse("busy", tooBusy().Closing())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, in.refuse("too_slow", problem.New(http.StatusRequestTimeout,
			"the body came too slowly, or stood still: send it again, without pauses").Closing())
	case err != nil:
		return nil, in.refuse("broken_off", problem.New(http.StatusBadRequest, "the body broke off").Closing())
	}
	return body, ""
}

// verify answers a VERIFY event. It is never stored, deduplicated, rate-limited or dispatched; it asks whether exports
// would be accepted.
func (in *intake) verify() (result string) {
	if result := in.checkVerification(); result != "" {
		return result
	}
	ctx, cancel := context.WithTimeout(in.r.Context(), readyWithin)
	defer cancel()
	if err := in.Gateway.Runtime.Ready(ctx); err != nil {
		problem.Unavailable(in.w)
		return "unavailable"
	}
	in.Gateway.Runtime.Remarks.Verified(in.tenant.Name, in.Gateway.Now())
	in.w.WriteHeader(http.StatusOK)
	return "verified"
}

// export accepts an export durably, or refuses it.
func (in *intake) export() (result string) {
	if wait := in.Gateway.Runtime.Rates.Take(in.tenant.Name, in.tenant.Rate, in.Gateway.Now()); wait > 0 {
		return in.refuse("rate", problem.New(http.StatusTooManyRequests,
			"too many exports at once: send again after the time in Retry-After").RetryAfter(wait))
	}
	head, p := readHeaders(in.r, in.Gateway.Config.Names)
	if p != nil {
		return in.refuse("header", p)
	}
	e, result := in.examine(head)
	if result != "" {
		return result
	}
	return in.accept(e)
}

// receipt is the body of the answer to an accepted export.
type receipt struct {
	Receipt    string    `json:"receipt"`
	SHA256     string    `json:"sha256"`
	ReceivedAt time.Time `json:"receivedAt"`
}

// accept stores the export, and answers once it is on disk.
func (in *intake) accept(e *model.Export) (result string) {
	ctx, span := tracing.Begin(tracing.FromRequest(in.r), trace.SpanKindInternal, "accept export",
		"tenant", e.Tenant, "export", strconv.FormatInt(e.ID, 10))
	e.Traceparent = tracing.Traceparent(ctx)
	res, err := inbox.Accept(ctx, in.Gateway.Runtime.Store(), e)
	e.Body = nil // its memory was released
	in.LogUUID(in.r, e.Key)
	if err != nil {
		tracing.End(span, "unavailable")
		in.Gateway.Runtime.Outage.Refused(e.Tenant, err, in.Gateway.Now(), in.Log)
		problem.Unavailable(in.w)
		return "unavailable"
	}
	in.Gateway.Runtime.Outage.Accepted(in.Gateway.Now, in.Log)
	tracing.End(span, "")
	status := http.StatusOK
	switch res.Verdict {
	case inbox.Conflicting:
		in.Log.Warn("an X-Service-UUID came again with another body; it was refused", zap.String("tenant", e.Tenant))
		return in.refuse("conflict", problem.New(http.StatusConflict,
			"an export with this UUID was accepted before, with another body: a new export needs a new UUID"))
	case inbox.Repeated:
		result = "repeated"
	case inbox.Accepted:
		in.Log.Info("export accepted", tracing.Field(e.TraceID()), zap.String("tenant", e.Tenant),
			zap.String("uuid", e.Key), zap.String("receipt", model.ReceiptHead(e.Receipt)))
		in.Gateway.Runtime.Dispatcher.Offer(e)
		if in.Gateway.Runtime.Bodies.Remember(e) {
			metrics.SameBody(e.Tenant)
		}
		if e.ForNobody {
			metrics.Delivery(e.Tenant, "", model.ClassOurFault)
		}
		status, result = http.StatusAccepted, "accepted"
		if e.Quarantined {
			result = "quarantined"
			in.Log.Warn("an export breaks the schema; it is in quarantine until someone releases it",
				zap.String("tenant", e.Tenant), zap.Int64("export", e.ID))
		} else {
			in.noteDeviations()
		}
	}
	in.w.Header().Set("Location", in.location(res.Receipt))
	answer(in.w, status, receipt{res.Receipt, hexOf(e.SHA256), res.ReceivedAt})
	metrics.Acknowledged(in.Gateway.Now().Sub(in.began))
	return result
}

func (in *intake) location(receipt string) string {
	// One slash at the start, also if the hook is the root: after two, clients expect a host.
	u := url.URL{Path: strings.TrimRight("/"+strings.Trim(gateway.OriginalPath(in.r), "/"), "/") + "/" + receipts + "/" +
		receipt}
	return u.EscapedPath()
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
