package listen

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// Entry is one line of `hiregate listen`. It says nothing about the candidate: no names, no e-mail addresses, and no
// file names, which often are names.
type Entry struct {
	Kind        string     `json:"kind"` // "export", "verify", "refused", or "documents", which completes an export
	At          time.Time  `json:"at"`
	Client      string     `json:"client,omitempty"`
	UUID        string     `json:"uuid,omitempty"`
	Signature   bool       `json:"signatureValid"`
	Bytes       int        `json:"bytes"` // of the body
	SHA256      string     `json:"sha256,omitempty"`
	Status      int        `json:"status,omitempty"` // answered; absent: the sender hung up before
	Note        string     `json:"note,omitempty"`   // why it was refused
	Attempt     int        `json:"attempt,omitempty"`
	Duplicate   bool       `json:"duplicate"` // an earlier one with this UUID was acknowledged
	Attachments int        `json:"attachments"`
	Downloading bool       `json:"downloading,omitempty"` // a line "documents" follows
	Documents   []Download `json:"documents,omitempty"`   // one for each attachment
}

// Download is the result of downloading one attachment's document.
type Download struct {
	Bytes    int64  `json:"bytes"` // of the file, decoded
	MIMEType string `json:"mimeType,omitempty"`
	Error    string `json:"error,omitempty"` // a few words, without the URL, which is a credential
}

// journal prints the lines and counts them.
type journal struct {
	mu     sync.Mutex
	out    io.Writer
	json   bool
	counts Counts
	failed error // of the writer; printing stops there
}

// Counts sums up the events that a partner received; with --json it is the last line.
type Counts struct {
	Kind         string    `json:"kind"` // "summary"
	Since        time.Time `json:"since"`
	Exports      int       `json:"exports"` // with a valid signature, duplicates included
	Acknowledged int       `json:"acknowledged"`
	Duplicates   int       `json:"duplicates"`
	Verify       int       `json:"verify"`
	Refused      int       `json:"refused"` // wrong signature or no event of the service
	Documents    int       `json:"documents"`
	Bytes        int64     `json:"bytes"`      // of the documents
	NotFetched   int       `json:"notFetched"` // documents
}

func newJournal(out io.Writer, json bool) *journal {
	return &journal{out: out, json: json, counts: Counts{Kind: "summary", Since: time.Now().UTC()}}
}

// greet prints where the partner listens.
func (j *journal) greet(addr string) error {
	if j.json {
		return terminal.WriteJSON(j.out, map[string]string{"kind": "listening", "address": addr})
	}
	_, err := fmt.Fprintf(j.out, "Listening at http://%s, any path; Ctrl-C ends.\n\n", addr)
	return err
}

// record prints and counts a line.
func (j *journal) record(e *Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts.add(e)
	switch {
	case j.failed != nil:
	case j.json:
		j.failed = terminal.WriteJSON(j.out, e)
	default:
		_, j.failed = fmt.Fprintln(j.out, e)
	}
}

func (c *Counts) add(e *Entry) {
	switch e.Kind {
	case "export":
		c.Exports++
		if e.Status/100 == 2 {
			c.Acknowledged++
		}
		if e.Duplicate {
			c.Duplicates++
		}
	case "verify":
		c.Verify++
	case "refused":
		c.Refused++
	}
	for _, d := range e.Documents {
		if d.Error != "" {
			c.NotFetched++
			continue
		}
		c.Documents++
		c.Bytes += d.Bytes
	}
}

// String is the line for people.
func (e *Entry) String() string {
	parts := []string{e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), fmt.Sprintf("%-9s", e.Kind)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	add("%s", cmp.Or(e.Client, "-"))
	if e.Kind != "verify" {
		add("%s", cmp.Or(e.UUID, "-"))
	}
	if e.Kind != "documents" {
		add("signature %s", map[bool]string{true: "valid", false: "WRONG"}[e.Signature])
	}
	if e.Kind == "export" || e.Kind == "documents" {
		add("%s", e.documents())
	}
	switch {
	case e.Kind == "documents":
	case e.Status == 0:
		add("not answered")
	default:
		add("answered %d", e.Status)
	}
	switch {
	case e.Duplicate:
		add("DUPLICATE")
	case e.Attempt > 1:
		add("attempt %d", e.Attempt)
	}
	if e.Note != "" {
		add("%s", e.Note)
	}
	return terminal.Printable(strings.Join(parts, "  "))
}

func (e *Entry) documents() string {
	text := fmt.Sprintf("%d documents", e.Attachments)
	if e.Attachments == 1 {
		text = "1 document"
	}
	if e.Downloading {
		return text + " (downloading)"
	}
	if len(e.Documents) == 0 {
		return text
	}
	each := make([]string, len(e.Documents))
	for i, d := range e.Documents {
		if each[i] = humanize.Bytes(uint64(d.Bytes)); d.Error != "" {
			each[i] = "FAILED: " + d.Error
		}
	}
	return text + " (" + strings.Join(each, ", ") + ")"
}

// summary prints the counts. It returns the error that stopped earlier lines, if any.
func (j *journal) summary() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failed != nil:
		return fmt.Errorf("printing what was received: %w", j.failed)
	case j.json:
		return terminal.WriteJSON(j.out, &j.counts)
	default:
		fmt.Fprintln(j.out)
		return j.counts.print(j.out)
	}
}

func (c *Counts) print(w io.Writer) error {
	table := terminal.NewTable(w)
	table.Row("listening since", c.Since)
	table.Row("exports", c.Exports)
	table.Row("  acknowledged", c.Acknowledged)
	table.Row("  duplicates", c.Duplicates)
	table.Row("verifications", c.Verify)
	table.Row("refused", c.Refused)
	table.Row("documents", fmt.Sprintf("%d (%s)", c.Documents, humanize.Bytes(uint64(c.Bytes))))
	table.Row("  not fetched", c.NotFetched)
	return table.Flush()
}

// ServeHTTP is the status page: the counts, as text.
func (j *journal) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, "The sample partner of hiregate. Webhook events are taken at any path by POST.\n\n", j.text())
}

// text returns the counts as they are printed.
func (j *journal) text() string {
	j.mu.Lock()
	c := j.counts
	j.mu.Unlock()
	var b strings.Builder
	_ = c.print(&b) // a Builder never fails
	return b.String()
}
