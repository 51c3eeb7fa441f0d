package listen

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

const (
	// maxBody is above what any sender of ours sends: 5 MiB and 10 MiB of inline documents, in base64.
	maxBody = 32 << 20
	// rememberedExports is how many UUIDs a partner remembers to detect duplicates.
	rememberedExports = 100_000
	// lineWithin is how long the line of an export waits for its documents.
	lineWithin = time.Second
)

// partner is the sample partner: it receives the webhook of the contract's part B at any path.
type partner struct {
	names        webhook.Names
	secret       string
	verifyStatus int // answered to VERIFY
	manner       atomic.Pointer[manner]
	failRate     float64     // share of exports that is answered 500 instead
	downloads    *downloader // nil: documents are not downloaded
	archive      archive
	journal      *journal
	seen         *memory
	signIn       *signIn // nil: nobody can sign in

	background sync.WaitGroup // downloads
}

// manner is how exports are answered.
type manner struct {
	status int
	slow   time.Duration // before the answer
}

// directed returns a channel that is closed when r ends, as lifeline.Of does. Each line until then is a manner, such as
// "503 2s", which holds from then on.
func (p *partner) directed(r io.Reader) <-chan struct{} {
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			status, slow, _ := strings.Cut(lines.Text(), " ")
			m := new(manner)
			var wrong, malformed error
			m.status, wrong = strconv.Atoi(status)
			m.slow, malformed = time.ParseDuration(slow)
			if wrong == nil && malformed == nil && answerable(m.status) && m.slow >= 0 {
				p.manner.Store(m)
			}
		}
	}()
	return cut
}

func (p *partner) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		p.receive(ctx, w, r)
	case p.signIn.serves(r.URL.Path) && reads(r.Method):
		p.signIn.serve(w, r, p.journal.text())
	case r.URL.Path == "/" && reads(r.Method):
		p.journal.ServeHTTP(w, r)
	default:
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func (p *partner) receive(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	e := &Entry{Kind: "refused", At: time.Now().UTC(), Client: clientOf(r.URL), UUID: r.Header.Get(p.names.UUID)}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	e.Bytes = len(body)
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			p.refuse(w, e, http.StatusRequestEntityTooLarge, "the body is larger than 32 MiB")
			return
		}
		p.refuse(w, e, http.StatusBadRequest, "the body broke off")
		return
	}
	sum := sha256.Sum256(body)
	e.SHA256 = hex.EncodeToString(sum[:])
	e.Signature = webhook.Verify(r.Header.Get(p.names.Signature), body, p.secret)
	switch event := r.Header.Get(p.names.Event); {
	case !e.Signature:
		p.refuse(w, e, http.StatusUnauthorized, "is --secret the integration's?")
	case event == webhook.EventVerify:
		p.verify(w, e, body)
	case event == webhook.EventExport:
		p.export(ctx, w, r, e, body)
	default:
		p.refuse(w, e, http.StatusBadRequest, p.names.Event+" is missing or names no event of the service")
	}
}

func (p *partner) refuse(w http.ResponseWriter, e *Entry, status int, note string) {
	e.Status, e.Note = status, note
	answerEmpty(w, status)
	p.journal.record(e)
}

func (p *partner) verify(w http.ResponseWriter, e *Entry, body []byte) {
	var verification struct {
		Data string `json:"data"`
	}
	if json.Unmarshal(body, &verification) != nil || verification.Data != p.names.VerifyText {
		p.refuse(w, e, http.StatusUnprocessableEntity, "the body is not the verification body")
		return
	}
	e.Kind, e.Status = "verify", p.verifyStatus
	answerEmpty(w, e.Status)
	p.journal.record(e)
}

func (p *partner) export(ctx context.Context, w http.ResponseWriter, r *http.Request, e *Entry, body []byte) {
	doc, err := schemas.Guard(body)
	switch {
	case err != nil:
		p.refuse(w, e, http.StatusBadRequest, err.Error())
		return
	case e.UUID != "" && !webhook.ValidUUID(e.UUID):
		p.refuse(w, e, http.StatusBadRequest, "the UUID is not 1 to 255 visible ASCII characters")
		return
	}
	e.Kind, e.Attachments = "export", len(doc.Attachments)
	key := e.Client + "\n" + e.UUID
	if e.UUID != "" {
		e.Attempt, e.Duplicate = p.seen.arrive(key)
	}
	m := p.manner.Load()
	select {
	case <-time.After(m.slow):
	case <-r.Context().Done():
		e.Note = "the sender hung up before the answer"
		p.journal.record(e)
		// Without it the server would answer 200, to a sender that may have closed one direction only.
		answerEmpty(w, http.StatusServiceUnavailable)
		return
	case <-ctx.Done():
		p.refuse(w, e, http.StatusServiceUnavailable, "the partner ended before the answer")
		return
	}
	e.Status = m.status
	if rand.Float64() < p.failRate {
		e.Status = http.StatusInternalServerError
	}
	accepted := e.Status/100 == 2
	if accepted && !e.Duplicate {
		if err := p.archive.body(e, body); err != nil {
			e.Status, e.Note, accepted = http.StatusInternalServerError, "it could not be saved: "+err.Error(), false
		}
	}
	// Of two that arrived at once, one is the first to be acknowledged.
	if accepted && e.UUID != "" {
		e.Duplicate = !p.seen.acknowledge(key)
	}
	answerEmpty(w, e.Status)
	if !accepted || e.Duplicate || p.downloads == nil || len(doc.Attachments) == 0 {
		p.journal.record(e)
		return
	}
	p.background.Go(func() { p.complete(ctx, e, doc.Attachments) })
}

// complete downloads the documents of an acknowledged export, and prints its line with them. If they take long, the
// line comes without them, and another one follows.
func (p *partner) complete(ctx context.Context, e *Entry, attachments []schemas.Attachment) {
	documents, folder := make(chan []Download, 1), p.archive.folder(e)
	go func() { documents <- p.downloads.all(ctx, attachments, folder) }()
	select {
	case e.Documents = <-documents:
	case <-time.After(lineWithin):
		e.Downloading = true
		p.journal.record(e)
		e = &Entry{Kind: "documents", Client: e.Client, UUID: e.UUID, Signature: true, SHA256: e.SHA256, Bytes: e.Bytes,
			Attachments: e.Attachments}
		e.Documents = <-documents
		e.At = time.Now().UTC()
	}
	p.journal.record(e)
}

// answerEmpty answers at once: the sender must not wait for what follows.
func answerEmpty(w http.ResponseWriter, status int) {
	if status != http.StatusNoContent && status != http.StatusNotModified {
		w.Header().Set("Content-Length", "0")
	}
	w.WriteHeader(status)
	// A sender that has disconnected will send again.
	_ = http.NewResponseController(w).Flush()
}

// clientOf returns the client that a payload belongs to, by the identifier in the URL (contract, "Endpoints" B): the
// query parameter "client", else the first segment of the path.
func clientOf(u *url.URL) string {
	client := u.Query().Get("client")
	if client == "" {
		client, _, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	}
	return client[:min(len(client), 64)]
}
