package check

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// The documents of the export that the checks of documents send.
const (
	there = "there" // answered 200
	busy  = "busy"  // answered 503 with Retry-After once, then 200
	gone  = "gone"  // answered 410
)

// shelf serves documents as the service does, at public, unguessable URLs, as Document objects (contract, "Webhook
// resources"), and counts the requests for each.
type shelf struct {
	url    string // of the documents, without their names
	folder string // the path of url
	mu     sync.Mutex
	asked  map[string]int
}

// serveDocuments serves documents on an address until the returned function is called. The receiver reaches it at base; empty: at
// the address itself.
func (r *receiver) serveDocuments(address, base string) (end func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, terminal.Unable(fmt.Errorf("serving documents on %s: %w; choose another address with --documents-listen",
			terminal.Printable(address), terminal.Cause(err)))
	}
	folder := "/" + rand.Text() + "/"
	base = strings.TrimRight(cmp.Or(base, "http://"+listener.Addr().String()), "/")
	r.shelf = &shelf{url: base + folder, folder: folder, asked: map[string]int{}}
	server := &http.Server{Handler: r.shelf, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	return func() { _ = server.Close() }, nil // it is the last that this command does
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	folder, name := path.Split(r.URL.Path)
	if !strings.HasSuffix(folder, s.folder) { // base may have a path
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.asked[name]++
	times := s.asked[name]
	s.mu.Unlock()
	switch {
	case name == gone:
		w.WriteHeader(http.StatusGone)
	case name == busy && times == 1:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		content := base64.StdEncoding.EncodeToString([]byte("A document of hiregate check.\n"))
		_ = json.NewEncoder(w).Encode(object{"content": content, "mimeType": "text/plain", "fileName": "check.txt"})
	}
}

// wait returns how often a document was asked for: as soon as that is so many times, at the latest at a time.
func (s *shelf) wait(ctx context.Context, name string, times int, till time.Time) int {
	for {
		s.mu.Lock()
		asked := s.asked[name]
		s.mu.Unlock()
		if asked >= times || ctx.Err() != nil || time.Now().After(till) {
			return asked
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// offer sends an export with the documents, once. Its finding says why they can't be asked for.
func (r *receiver) offer(ctx context.Context) finding {
	if r.shelf == nil {
		return unreachable
	}
	if r.offered != nil {
		return *r.offered
	}
	found := r.accepts(ctx, "an export with three documents", r.export(r.profiled(object{"attachments": r.attachments(there, busy, gone)})),
		"accept attachments, each with id, descriptions and url")
	r.offered, r.till = &found, time.Now().Add(r.patience)
	return found
}

// unreachable is the finding where a receiver could not fetch what it is sent.
var unreachable = finding{Skipped: "the receiver can't reach the documents that this machine serves: name an address where it can, " +
	"with --documents-listen"}

// attachments are documents by name. A receiver may fetch them before it answers, so each has to be there.
func (r *receiver) attachments(names ...string) (all []object) {
	for _, name := range names {
		all = append(all, object{"id": r.id("Document to Candidate"), "descriptions": []string{"Check"}, "url": r.shelf.url + name})
	}
	return all
}

func fetched(ctx context.Context, r *receiver) finding {
	if found := r.offer(ctx); found != (finding{}) {
		return found
	}
	if r.shelf.wait(ctx, there, 1, r.till) == 0 {
		return finding{Sent: "an export with three documents", Got: "none was asked for within " + terminal.FormatDuration(r.patience),
			Do: "fetch each document within 2 h 30 min of its export, after the answer if you like: then its URL ends; --documents-wait " +
				"waits for a receiver that comes later, --documents-listen serves one in a container"}
	}
	return finding{}
}

func fetchedAgain(ctx context.Context, r *receiver) finding {
	if found := r.askedFor(ctx, busy); found.Skipped != "" {
		return found
	}
	if r.shelf.wait(ctx, busy, 2, time.Now().Add(r.patience)) == 1 {
		return finding{Sent: "503 with Retry-After: 1, for a document",
			Got: "it was not asked for again within " + terminal.FormatDuration(r.patience),
			Do:  "ask for a document again after 503, 429 and a broken connection, until its 2 h 30 min are over"}
	}
	return finding{}
}

func givenUp(ctx context.Context, r *receiver) finding {
	if found := r.askedFor(ctx, gone); found.Skipped != "" {
		return found
	}
	if r.shelf.wait(ctx, gone, 2, time.Now().Add(r.quiet)) > 1 {
		return finding{Sent: "410, for a document", Got: "it was asked for again", Do: "give a document up that is gone: it does not come back"}
	}
	return finding{}
}

// askedFor is skipped unless a document is asked for.
func (r *receiver) askedFor(ctx context.Context, name string) finding {
	switch found := r.offer(ctx); {
	case found.Skipped != "":
		return found
	case found.Do != "":
		return finding{Skipped: "the export with documents was not accepted"}
	case r.shelf.wait(ctx, name, 1, r.till) == 0:
		return finding{Skipped: "the document was not asked for"}
	}
	return finding{}
}
