package schedules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/store"
)

// files is the host that documents come from, and gate the one of the gateway.
const (
	files = "files.example"
	gate  = "http://gate.example"
)

// document is the document of an export.
func document(uuid string) []byte { return bytes.Repeat([]byte("the document of "+uuid+"\n"), 40) }

// exportBody is the body of an export; with a document if it has one.
func exportBody(uuid string, attached bool) []byte {
	attachments := ""
	if attached {
		attachments = fmt.Sprintf(`,"profiles":[{"attachments":[{"id":{"value":"d"},"url":"https://%s/%s"}]}]`, files, uuid)
	}
	return fmt.Appendf(nil, `{"candidate":{"person":{"id":{"value":%q}}%s}}`, uuid, attachments)
}

// sameBody reports whether what went out is what came in, with our own URL in the place of its document's, and beside that
// the document itself. It notes our URL.
func (w *world) sameBody(e *sent, out []byte) bool {
	if bytes.Equal(out, e.body) {
		return true
	}
	_, rest, ok := bytes.Cut(out, []byte(`"url":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 || !e.attached {
		return false
	}
	url := string(rest[:end])
	out = bytes.Replace(out, []byte(url), []byte("https://"+files+"/"+e.uuid), 1)
	if at := bytes.Index(out, []byte(documents.DocumentMember)); at >= 0 {
		var inline struct{ Content []byte }
		d := json.NewDecoder(bytes.NewReader(out[at+len(documents.DocumentMember):]))
		if d.Decode(&inline) != nil || !bytes.Equal(inline.Content, document(e.uuid)) {
			return false
		}
		out = slices.Delete(slices.Clone(out), at, at+len(documents.DocumentMember)+int(d.InputOffset()))
	}
	if token, ours := strings.CutPrefix(url, gate+"/documents/"); ours {
		e.tokens = append(e.tokens, token)
	} else if !strings.HasPrefix(url, "https://"+files) {
		return false
	}
	return bytes.Equal(out, e.body)
}

// documents asks for each document that a partner was told of, and counts those that are not served: lost, and damaged.
func (w *world) documents(n *node) (lost, damaged int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.order {
		slices.Sort(e.tokens)
		bad := map[string]bool{}
		for _, token := range slices.Compact(e.tokens) {
			raw, err := n.download(token)
			switch {
			case errors.Is(err, store.ErrUnreadable):
				bad["damaged"] = true
			case err != nil:
				bad["lost"] = true
			case !bytes.Equal(raw, document(e.uuid)):
				w.violated("another document than that of %s is served", e.uuid)
			}
		}
		if bad["damaged"] {
			damaged++
		} else if bad["lost"] {
			lost++
		}
	}
	return lost, damaged
}

// download reads a document as the directive documents does.
func (n *node) download(token string) ([]byte, error) {
	hash, ok := documents.HashToken(token)
	if !ok {
		return nil, errors.New("no such address")
	}
	d, _, err := n.db.DocumentByLink(n.ctx, hash)
	if err != nil {
		return nil, err
	}
	content, err := n.activities.Archive.Files.OpenWhole(d.Blob, d.Size, d.SHA256)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	return io.ReadAll(content)
}
