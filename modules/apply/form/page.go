package form

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

//go:embed page.html
var markup string

var pages = template.Must(template.New("page").Parse(markup))

// fewOptions is up to how many options of a Select are a list of radio buttons.
const fewOptions = 7

// page is the template data of a page.
type page struct {
	Text          *texts
	Style         template.CSS
	Title         string // of the window
	Brand         string
	Logo          string // its address; empty: there is none
	Framed        bool
	Form          *formView
	Message       *message
	Privacy, Jobs string
	Note          string // below the form
}

// message is a page without a form.
type message struct {
	OK                  bool
	Title, Page         string // Page: of the window, where it is another
	Lines               []string
	Receipt, ReceiptURL string
	ReturnTo            string
	Jobs                bool
	Again               int // seconds until the page is loaded again; 0: it is not
}

// formView is a form with what was answered and what is wrong with it.
type formView struct {
	Heading              string
	Once, Source, Return string
	Summary              string
	Wrong                []*field
	Rows                 [][]*field
	Groups               []*groupView
}

// groupView has the questions of a compliance group, behind its legal text.
type groupView struct {
	ID, Name, Title, Form string
	Text                  []string
	Decline, Declined     bool
	Fields                []*field
}

// field is a question as it is shown.
type field struct {
	ID, Name, Label            string
	Optional                   bool
	Kind                       string // input, textarea, file, radio, select or boxes
	Type, Autocomplete, Mode   string // of an input
	MaxLength                  int    // 0: none
	Value, Hint, Error, Accept string
	Options                    []choice
	KeptName, KeptToken        string // of a file that was sent before
	KeptText, KeptSize         string
	Text                       *texts
}

// choice is an option of a question.
type choice struct {
	ID, Value string
	Chosen    bool
}

// formPage returns the page of a form as it was filled in. wrong is by question.
func (f *Form) formPage(r *http.Request, job *model.Job, s *sent, wrong map[string]string) *page {
	t := textsFor(r)
	v := &formView{Heading: f.titleOf(job), Once: s.once, Source: s.source, Return: s.returnTo}
	groups := map[string]*groupView{}
	for n := range job.Questions {
		q := &job.Questions[n]
		one := fieldOf(t, q, "q"+strconv.Itoa(n), s, wrong[q.ID])
		if one.Error != "" {
			v.Wrong = append(v.Wrong, one)
		}
		if q.Group != nil {
			g := groups[*q.Group]
			if g == nil {
				g = f.groupOf(r, *q.Group, len(groups))
				g.Declined = s.declined[*q.Group]
				groups[*q.Group] = g
				v.Groups = append(v.Groups, g)
			}
			g.Decline = g.Decline || len(g.Fields) > 0 && q.Format == model.Select && declining(q) != ""
			g.Fields = append(g.Fields, one)
			continue
		}
		if last := len(v.Rows) - 1; q.ID == "lastName" && last >= 0 && v.Rows[last][0].Name == answerPrefix+"firstName" {
			v.Rows[last] = append(v.Rows[last], one)
			continue
		}
		v.Rows = append(v.Rows, []*field{one})
	}
	title := fill(t.FormTitle, "job", v.Heading, "site", f.Look.name(t))
	switch len(v.Wrong) {
	case 0:
	case 1:
		v.Summary = t.OneWrong
	default:
		v.Summary = fill(t.SomeWrong, "count", strconv.Itoa(len(v.Wrong)))
	}
	if v.Summary != "" {
		title = v.Summary + ": " + v.Heading
	}
	return &page{Text: t, Title: title, Form: v}
}

// groupOf returns a compliance group without its questions. One whose text is not known has its name.
func (f *Form) groupOf(r *http.Request, name string, n int) *groupView {
	g := &groupView{ID: "g" + strconv.Itoa(n), Name: name, Title: name}
	if notice, ok := f.Applications.Notice(r.Context(), f.Tenant, name); ok {
		g.Title, g.Form, g.Text = notice.Title, notice.Form, notice.Text
	}
	return g
}

// fieldOf returns a question as it is shown, with what was answered.
func fieldOf(t *texts, q *model.Question, id string, s *sent, wrong string) *field {
	one := &field{Text: t, ID: id, Name: answerPrefix + q.ID, Label: cmp.Or(strings.TrimSpace(q.Label), q.ID), Optional: !q.IsRequired,
		Kind: "input", Type: "text", Value: s.text(q.ID)}
	if q.MaxLength != nil {
		one.MaxLength = *q.MaxLength
	}
	switch q.Format {
	case model.Date:
		one.Type = "date"
	case model.Number:
		one.Mode = "decimal"
	case model.Phone:
		one.Type, one.Autocomplete = "tel", "tel"
	case model.Textarea:
		one.Kind = "textarea"
		if one.MaxLength > 0 {
			one.Hint = fill(t.UpTo, "count", t.number(one.MaxLength))
		}
	case model.File:
		one.Kind, one.Value, one.Hint, one.Accept = "file", "", t.FileHint, accepted(q)
		if q.ID == schemas.Resume {
			one.Hint = t.ResumeHint
		}
		if kept := s.files[q.ID]; kept != nil {
			one.KeptName, one.KeptToken, one.KeptText = keptPrefix+q.ID, kept.token(), kept.name
			one.KeptSize = fill(t.Kept, "size", t.size(kept.size))
		}
	case model.Select, model.Checkbox:
		one.Kind = "select"
		switch {
		case q.Format == model.Checkbox:
			one.Kind, one.Hint = "boxes", t.ChooseSome
		case len(q.Options) <= fewOptions:
			one.Kind = "radio"
		}
		for n, option := range q.Options {
			c := choice{ID: id + "-" + strconv.Itoa(n), Value: option, Chosen: slices.Contains(s.values[q.ID], option)}
			if n == 0 {
				c.ID = id // the summary leads there
			}
			one.Options = append(one.Options, c)
		}
	}
	switch {
	case q.ID == "firstName":
		one.Autocomplete = "given-name"
	case q.ID == "lastName":
		one.Autocomplete = "family-name"
	case q.ID == "email", q.Check == model.CheckEmail:
		one.Type, one.Autocomplete = "email", "email"
	}
	if wrong != "" {
		said, theirs := strings.CutPrefix(wrong, serviceSaid)
		if one.Error = t.sentence(q, said); theirs && one.Error == t.Invalid {
			one.Error = said
		}
	}
	return one
}

// accepted lists the types of a File question for a browser's choice of files, with their extensions: systems know some
// of the types by those alone.
func accepted(q *model.Question) string {
	var all []string
	types := filetype.All()
	if q.ID == schemas.Resume {
		types = filetype.ForResume()
	}
	for _, name := range types {
		all = append(all, name)
		if extension := filetype.Extension(name); extension != "" && !slices.Contains(all, extension) {
			all = append(all, extension)
		}
	}
	return strings.Join(all, ",")
}

// titleOf returns the title of a job, or its code where it has none.
func (f *Form) titleOf(job *model.Job) string {
	return cmp.Or(strings.TrimSpace(job.Title), job.BoardCode)
}

// mount is the path below which the forms are served, as the browser knows it.
func (f *Form) mount(r *http.Request) string {
	return strings.TrimSuffix(strings.TrimSuffix(gateway.OriginalPath(r), r.URL.Path), "/")
}

// message shows a page without a form.
func (f *Form) message(w http.ResponseWriter, r *http.Request, status int, make func(*texts) *message) {
	t := textsFor(r)
	m := make(t)
	f.show(w, r, status, &page{Text: t, Title: cmp.Or(m.Page, m.Title), Message: m})
}

// show answers with a page.
func (f *Form) show(w http.ResponseWriter, r *http.Request, status int, v *page) {
	v.Style, v.Brand, v.Framed, v.Privacy, v.Note = f.style.css, f.Look.Name, isFramed(r), f.Privacy,
		fill(v.Text.Note, "site", f.Look.name(v.Text))
	if v.Message == nil || v.Message.Jobs || v.Message.OK {
		v.Jobs = f.Jobs
	}
	if len(f.Look.Logo) > 0 {
		v.Logo = f.mount(r) + "/logo"
	}
	var b bytes.Buffer
	if err := pages.Execute(&b, v); err != nil {
		f.Log.Error("a page of the application form can't be made", zap.Error(err))
		http.Error(w, "the page can't be shown", http.StatusInternalServerError)
		return
	}
	origins := strings.Join(f.Origins, " ")
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.Text.Lang)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept-Language, Sec-Fetch-Dest")
	h.Set("Content-Security-Policy", fmt.Sprintf("default-src 'none'; style-src %s; img-src 'self'; form-action 'self' %s; "+
		"frame-ancestors 'self' %s; base-uri 'none'", f.style.source, origins, origins))
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: browsers would send our own forms with an Origin of null then.
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}
