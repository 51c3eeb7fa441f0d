package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// outside is Temporal, a partner, which also serves the documents of exports, and a service that applications are relayed to.
// They keep their power.
type outside struct {
	address, temporal string // of its own server, and Temporal's
	stop              func()

	mu       sync.Mutex
	received map[string]bool // names of exports and applications
	load     *load           // is told of documents
}

// startOutside starts what keeps its power. The files of Temporal are in the folder.
func startOutside(temporalDev, folder string) (*outside, error) {
	temporal, err := freeAddress()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &outside{address: l.Addr().String(), temporal: temporal, received: map[string]bool{}}
	c := exec.Command(temporalDev, "--db", filepath.Join(folder, "temporal.db"), "--port="+temporal[strings.LastIndex(temporal, ":")+1:],
		"--ui-port=0", "--lifeline", "--log-level=error")
	c.Env = append(os.Environ(), "HIREGATE_LIFELINE=stdin")
	if _, err := c.StdinPipe(); err != nil { // it closes with this process, and Temporal ends
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: o}
	go server.Serve(l)
	o.stop = func() {
		server.Close()
		c.Process.Kill()
		c.Wait()
	}
	return o, nil
}

// ServeHTTP serves the documents that exports reference, and receives exports and applications.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
		w.Write(document(name))
		return
	}
	body, err := io.ReadAll(r.Body)
	path, applies := strings.CutPrefix(r.URL.Path, "/apply/v2/")
	switch {
	case err != nil:
		return
	case path == "authentication":
		io.WriteString(w, `{"token":"t"}`)
		return
	case path == "application":
		w.WriteHeader(http.StatusNoContent)
	case applies:
		io.WriteString(w, questions)
		return
	case r.Header.Get("X-Service-Event") != "CANDIDATE-EXPORT":
		return
	}
	name := names.FindString(string(body))
	for _, url := range documentURLs(body) {
		o.load.acknowledged(documents, name+" "+url)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.received[name] = true
}

func (o *outside) got(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.received[name]
}

// names are the names that exports and applications have here, and their documents.
var names = regexp.MustCompile(`[ups]-\d+-\d+-\d+`)

func documentURLs(body []byte) (urls []string) {
	var export struct {
		Candidate struct {
			Profiles []struct {
				Attachments []struct{ URL string }
			}
		}
	}
	json.Unmarshal(body, &export)
	for _, profile := range export.Candidate.Profiles {
		for _, attachment := range profile.Attachments {
			urls = append(urls, attachment.URL)
		}
	}
	return urls
}

// document is the document of a name.
func document(name string) []byte {
	h := fnv.New64a()
	io.WriteString(h, name)
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	content := make([]byte, random.IntN(30_000))
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	return append(fmt.Appendf(nil, "%%PDF-1.4\n%s\n", name), content...)
}

// exportBody is the body of an export, of every third name with a document.
func (o *outside) exportBody(name string) []byte {
	attachments := ""
	if name[len(name)-1]%3 == 0 {
		attachments = fmt.Sprintf(`"attachments":[{"id":{"value":"d","schemeId":"Service Document to Candidate","schemeAgencyId":"Service"},"url":"http://%s/files/%s"}]`,
			o.address, name)
	}
	return fmt.Appendf(nil, `{"candidate":{"person":{"id":{"value":%q,"schemeId":"Service Candidate","schemeAgencyId":"Service"}},"profiles":[{%s}]}}`,
		name, attachments)
}

// questions has what the job asks.
const questions = `[{"id":"email","format":"Text","isRequired":true,"label":"E-mail","options":null,"maxLength":null,"group":null},
	{"id":"resume","format":"File","isRequired":true,"label":"Resume","options":null,"maxLength":null,"group":null}]`

// applicationBody is an application with a file.
func applicationBody(name string) []byte {
	return fmt.Appendf(nil, `{"jobBoardCode":"NURSE-1","source":"","answers":[{"questionId":"email","value":"%s@example.com"},{"questionId":"resume","value":%q}]}`,
		name, base64.StdEncoding.EncodeToString(document(name)))
}

// errFetching says that a document is still being fetched.
var errFetching = errors.New("the document is not fetched yet")

// sameDocument reports whether the document at a URL is the one of a name; gone: there is none.
func sameDocument(url, name string) (same, gone bool, err error) {
	resp, err := http.Get(url)
	if err != nil {
		return false, false, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return false, false, err
	case resp.StatusCode == http.StatusOK:
		var got struct{ Content []byte } // in base64
		return json.Unmarshal(raw, &got) == nil && bytes.Equal(got.Content, document(name)), false, nil
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return false, true, nil
	case resp.StatusCode == http.StatusServiceUnavailable && bytes.Contains(raw, []byte("can't be read")):
		return false, false, nil
	case resp.StatusCode == http.StatusServiceUnavailable:
		return false, false, errFetching
	}
	return false, false, fmt.Errorf("unexpected answer %d: %s", resp.StatusCode, raw)
}
