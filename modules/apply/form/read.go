package form

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

const (
	// largest is how many bytes of a form are read: a file that is too large is an error at its field, and for that the rest
	// has to be read.
	largest  = 256 << 20
	readTime = documents.UploadTime / 2
	maxParts = 2048
	maxHead  = 64 << 10 // bytes of the head of a field: package multipart would take 10 MiB of memory for each
	maxShort = 255      // characters of a source, or of a file's name
)

var (
	errNoForm = errors.New("the body is not multipart/form-data")
	errBroken = errors.New("the form broke off, or is none of ours")
	errFull   = errors.New("too many files are kept for this address, or for all")
)

// The names of the fields that are no answers. Those of answers have a prefix, and a dot.
const (
	onceField   = "once"
	sourceField = "source"
	returnField = "return_to"
	trapField   = "company"

	answerPrefix  = "a." // and the question's id
	keptPrefix    = "k." // and the question's id: a file that was sent before
	declinePrefix = "d." // and the compliance group's name
)

// sent is a form as it was filled in.
type sent struct {
	once, source, returnTo string
	trapped                bool
	values                 map[string][]string // by question
	files                  map[string]*file    // by question
	wrong                  map[string]string   // by question: what is wrong, as package schemas says it, or heic
	declined               map[string]bool     // by compliance group
}

// heic stands for a picture as some phones take them, which no question takes.
const heic = "heic"

// file is a file that is kept: an upload that nothing claims is removed after an hour.
type file struct {
	blob, name string
	sum        string // SHA-256, in hex
	size       int64
}

// token names a kept file in the form. The name of an upload can't be guessed.
func (k *file) token() string {
	return k.blob + "/" + k.sum + "/" + k.name
}

// text returns the answer to a question that has one value.
func (s *sent) text(question string) string {
	if values := s.values[question]; len(values) > 0 {
		return strings.TrimSpace(values[0])
	}
	return ""
}

// serviceSaid is before what a service said about an answer: it is shown as it is where we have no sentence for it.
const serviceSaid = "\x00"

// refuse notes which answers are not valid. Their files are not kept. theirs: a service said so.
func (s *sent) refuse(job *model.Job, wrong []model.InvalidAnswer, theirs bool) {
	for _, one := range wrong {
		q := questionOf(job, one.QuestionID)
		if q == nil || len(one.Messages) == 0 || s.wrong[q.ID] != "" {
			continue
		}
		_, message, _ := strings.Cut(one.Messages[0], cmp.Or(q.Label, q.ID)+": ")
		s.wrong[q.ID] = cmp.Or(message, one.Messages[0])
		if theirs {
			s.wrong[q.ID] = serviceSaid + s.wrong[q.ID]
		}
		delete(s.files, q.ID)
	}
}

func questionOf(job *model.Job, id string) *model.Question {
	at := slices.IndexFunc(job.Questions, func(q model.Question) bool { return q.ID == id })
	if at < 0 {
		return nil
	}
	return &job.Questions[at]
}

// reader reads a form.
type reader struct {
	*sent
	form    *Form
	ctx     context.Context
	job     *model.Job
	address string
	left    int // bytes of answers that are no files
}

// read reads a form, its files into the document store. Errors: errNoForm, errBroken, errFull, *http.MaxBytesError, and
// those of the store and of the documents.
func (f *Form) read(w http.ResponseWriter, r *http.Request, job *model.Job, place *place) (*sent, error) {
	bodies.Within(w, readTime)
	heads := &heads{ReadCloser: http.MaxBytesReader(w, r.Body, largest), place: place}
	r.Body = heads
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, errNoForm
	}
	in := &reader{form: f, ctx: r.Context(), job: job, address: f.Address(r), left: perFormBytes,
		sent: &sent{values: map[string][]string{}, files: map[string]*file{}, wrong: map[string]string{}, declined: map[string]bool{}}}
	for range maxParts {
		heads.left = maxHead
		part, err := parts.NextRawPart()
		heads.left = -1
		if errors.Is(err, io.EOF) {
			in.complete()
			return in.sent, nil
		}
		if err == nil {
			err = in.part(part)
		}
		if err != nil {
			return nil, broken(err)
		}
	}
	return nil, errBroken
}

// heads bounds what is read of a body before the content of a field begins, and notes how much came.
type heads struct {
	io.ReadCloser
	place *place
	left  int // bytes; negative: any number
}

func (h *heads) Read(p []byte) (int, error) {
	switch {
	case h.left == 0, h.place.ended.Load():
		return 0, errBroken
	case h.left > 0:
		p = p[:min(len(p), h.left)]
	}
	n, err := h.ReadCloser.Read(p)
	h.place.bytes.Add(int64(n))
	if h.left > 0 {
		h.left -= n
	}
	return n, err
}

// broken tells an error of the connection, or of the form's parts, from ours.
func broken(err error) error {
	large := new(http.MaxBytesError)
	if errors.As(err, &large) {
		return large
	}
	if _, ours := errors.AsType[ownError](err); ours || errors.Is(err, errFull) {
		return err
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// ownError is an error of the store, or of the documents.
type ownError struct{ error }

func (e ownError) Unwrap() error { return e.error }

// part reads one field.
func (in *reader) part(part *multipart.Part) error {
	name := part.FormName()
	id, isAnswer := strings.CutPrefix(name, answerPrefix)
	q := questionOf(in.job, id)
	if isAnswer && q != nil && q.Format == model.File {
		return in.file(q, part)
	}
	text, whole, err := in.text(part)
	if err != nil {
		return err
	}
	switch {
	case isAnswer && q != nil && !whole:
		in.wrong[id] = schemas.TooLarge
	case isAnswer && q != nil:
		if len(q.Options) == 0 { // an option is sent as it is offered
			text = norm.NFC.String(text)
		}
		in.values[id] = append(in.values[id], text)
	case name == onceField && len(text) <= maxShort:
		in.once = text
	case name == sourceField:
		in.source = clipped(text)
	case name == returnField:
		in.returnTo = in.form.returnTo(text)
	case name == trapField:
		in.trapped = text != ""
	case strings.HasPrefix(name, declinePrefix):
		in.declined[strings.TrimPrefix(name, declinePrefix)] = text != ""
	case strings.HasPrefix(name, keptPrefix):
		return in.kept(strings.TrimPrefix(name, keptPrefix), text)
	}
	return nil
}

// text reads a text, with line breaks of one character, as maxLength counts them. whole is false if there is no room for
// it.
func (in *reader) text(part io.Reader) (text string, whole bool, err error) {
	raw, err := io.ReadAll(io.LimitReader(part, int64(in.left)+1))
	if err != nil {
		return "", false, err
	}
	if len(raw) > in.left {
		_, err := io.Copy(io.Discard, part)
		return "", false, err
	}
	in.left -= len(raw)
	return strings.ReplaceAll(strings.ToValidUTF8(string(raw), "\ufffd"), "\r\n", "\n"), true, nil
}

// file stores the file that answers a question.
func (in *reader) file(q *model.Question, part *multipart.Part) error {
	name := clipped(fileName(part.FileName()))
	content := bufio.NewReader(part)
	head, err := content.Peek(12)
	switch {
	case name == "" && len(head) == 0, in.wrong[q.ID] != "":
		_, err := io.Copy(io.Discard, content)
		return err
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(head) == 0:
		in.wrong[q.ID] = schemas.EmptyFile
		return nil
	case isHEIC(head):
		in.wrong[q.ID] = heic
		_, err := io.Copy(io.Discard, content)
		return err
	}
	archive := in.form.archive()
	blob, err := archive.BeginUpload(in.ctx)
	if err != nil {
		return ownError{err}
	}
	source := &applyclient.Source{Reader: content}
	stored, err := archive.Files.Put(in.ctx, blob, source, schemas.FileLimit(q)-1)
	switch {
	case errors.Is(err, documents.ErrTooLarge):
		in.wrong[q.ID] = schemas.LargeFileMessage(q)
		_, err := io.Copy(io.Discard, content)
		return err
	case source.Err != nil: // the connection's
		return source.Err
	case err != nil:
		return ownError{err}
	case !in.form.Guards.keep(in.address, stored.Size, in.form.Gateway.Now()):
		return errFull
	}
	in.files[q.ID] = &file{blob: blob, name: cmp.Or(name, q.ID), sum: hex.EncodeToString(stored.SHA256[:]), size: stored.Size}
	return nil
}

// kept takes a file that was sent before, unless another one is sent in its place.
func (in *reader) kept(question, token string) error {
	fields := strings.SplitN(token, "/", 3)
	if q := questionOf(in.job, question); q == nil || q.Format != model.File || len(fields) < 3 || in.files[question] != nil {
		return nil
	}
	is, err := in.form.Gateway.Runtime.Store().IsUpload(in.ctx, fields[0], in.form.Gateway.Now().Add(-keptFor))
	if err != nil {
		return ownError{err}
	}
	if !is { // it was kept for too long: the form asks for it once more
		return nil
	}
	content, size, err := in.form.archive().Files.Open(fields[0])
	if err != nil {
		return ownError{err}
	}
	in.files[question] = &file{blob: fields[0], sum: fields[1], size: size, name: clipped(fields[2])}
	return content.Close()
}

// complete gives a form that came without one a key, and answers what is declined.
func (in *reader) complete() {
	in.once = cmp.Or(in.once, uuid.NewString())
	for n := range in.job.Questions {
		q := &in.job.Questions[n]
		if q.Group != nil && in.declined[*q.Group] && q.Format == model.Select {
			if option := declining(q); option != "" {
				in.values[q.ID] = []string{option}
			}
		}
	}
}

// declining returns the option of a question with which a person declines to answer; empty: there is none.
func declining(q *model.Question) string {
	for _, option := range slices.Backward(q.Options) {
		text := strings.ToLower(option)
		if strings.Contains(text, "not want to") || strings.Contains(text, "not wish to") || strings.Contains(text, "decline") ||
			strings.Contains(text, "prefer not") {
			return option
		}
	}
	return ""
}

// body returns the application as POST /v2/application takes it. The same answers give the same bytes.
func (f *Form) body(job *model.Job, s *sent) io.ReadCloser {
	var answers []applyclient.Answer
	for n := range job.Questions {
		q := &job.Questions[n]
		file, value := s.files[q.ID], answerOf(q, s.values[q.ID])
		switch {
		case file != nil:
			answers = append(answers, applyclient.Answer{QuestionID: q.ID, File: &applyclient.File{Size: file.size,
				Open: func() (io.ReadCloser, error) {
					content, _, err := f.archive().Files.Open(file.blob)
					return content, err
				}}})
		case value != "":
			answers = append(answers, applyclient.Answer{QuestionID: q.ID, Value: value})
		}
	}
	return applyclient.Application(job.BoardCode, cmp.Or(s.source, f.Source), answers).Open()
}

// answerOf is the value of an answer: the chosen options of a Checkbox are separated by "|", which is escaped within one
// (contract, "Answer validation per question format").
func answerOf(q *model.Question, values []string) string {
	if q.Format != model.Checkbox {
		if len(values) == 0 {
			return ""
		}
		return strings.TrimSpace(values[0])
	}
	var chosen []string
	for _, value := range values {
		if value != "" {
			chosen = append(chosen, strings.ReplaceAll(value, "|", `\|`))
		}
	}
	return strings.Join(chosen, "|")
}

// fingerprint identifies what was answered.
func (s *sent) fingerprint() string {
	sum := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(s.values)) {
		fmt.Fprintf(sum, "%q %q\n", id, s.values[id])
	}
	for _, id := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(sum, "%q %s\n", id, s.files[id].sum)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// clipped cuts a short text that would be refused for its length.
func clipped(s string) string {
	if all := []rune(s); len(all) > maxShort {
		return string(all[:maxShort])
	}
	return s
}

// fileName returns the last part of a file's path, as browsers send it or don't.
func fileName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// isHEIC reports whether a file begins as a HEIF picture (ISO/IEC 23008-12), which the contract does not list.
func isHEIC(head []byte) bool {
	return len(head) == 12 && bytes.Equal(head[4:8], []byte("ftyp")) &&
		slices.Contains([]string{"heic", "heix", "heim", "heis", "hevc", "mif1", "msf1"}, string(head[8:12]))
}
