package send

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/documents"
)

// offer serves the documents of an export as the service does: at public, unguessable URLs, as Document objects
// (contract, "Webhook resources"). There are as many URLs as the export has attachments; they use the files in turn.
type offer struct {
	files  []offered
	base   string // URL without the number at its end
	server *http.Server

	mu      sync.Mutex
	fetched []int         // by URL: how often it was fetched to the end
	changed chan struct{} // closed and replaced whenever fetched changes
}

type offered struct {
	path, name, mimeType string
}

// newOffer starts a server on a free port of 127.0.0.1 with n URLs for the files. The error is a sentence about
// --document.
func newOffer(paths []string, n int) (*offer, error) {
	o := &offer{fetched: make([]int, n), changed: make(chan struct{})}
	for _, path := range paths {
		detected, err := detectFile(path)
		if err != nil {
			return nil, err
		}
		o.files = append(o.files, offered{path: path, name: filepath.Base(path), mimeType: detected})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the documents can't be served on 127.0.0.1: %w", terminal.Cause(err))
	}
	folder := "/" + rand.Text() + "/"
	o.base = "http://" + l.Addr().String() + folder
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+folder+"{n}", o.serve)
	o.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go o.server.Serve(l)
	return o, nil
}

// detectFile returns the media type of a file's content, without parameters.
func detectFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("--document %s is not a file: name one file each, and repeat the flag for more", path)
	}
	if err != nil {
		return "", fileSentence("--document", path, err)
	}
	m, err := mimetype.DetectFile(path)
	if err != nil {
		return "", fileSentence("--document", path, err)
	}
	bare, _, _ := strings.Cut(m.String(), ";")
	return bare, nil
}

// urls are the addresses, in the order of the attachments.
func (o *offer) urls() []string {
	urls := make([]string, len(o.fetched))
	for i := range urls {
		urls[i] = o.base + strconv.Itoa(i)
	}
	return urls
}

func (o *offer) serve(w http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || i < 0 || i >= len(o.fetched) {
		http.NotFound(w, r)
		return
	}
	file := o.files[i%len(o.files)]
	f, err := os.Open(file.path)
	if err != nil {
		http.Error(w, "the document is not available", http.StatusInternalServerError)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(w, "the document is not available", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(documents.EncodedLength(info.Size(), file.mimeType, file.name), 10))
	if r.Method == http.MethodHead {
		return
	}
	if err := documents.EncodeObject(w, f, info.Size(), file.mimeType, file.name); err != nil {
		// Half a document must not look like a whole one.
		panic(http.ErrAbortHandler)
	}
	// Once counted, the server may be closed: nothing may be left in its buffers.
	if err := http.NewResponseController(w).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fetched[i]++
	close(o.changed)
	o.changed = make(chan struct{})
}

// wait returns when each URL was fetched `times` times, or ctx ended. It returns how many fetches there were, at most
// `times` of each.
func (o *offer) wait(ctx context.Context, times int) int {
	for {
		o.mu.Lock()
		changed, done := o.changed, 0
		for _, n := range o.fetched {
			done += min(n, times)
		}
		o.mu.Unlock()
		if done == times*len(o.fetched) {
			return done
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return done
		}
	}
}

// close frees the port; fetches in progress break off.
func (o *offer) close() error {
	if err := o.server.Close(); err != nil {
		return fmt.Errorf("ending the server of the documents: %w", err)
	}
	return nil
}
