package recruiting

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
	"github.com/hiregate/hiregate/schemas"
)

// row is a question of a list that is imported, or the reasons why it is refused.
type row struct {
	at     string // where it stands, for people
	q      model.Question
	faults []string
}

// importQuestions replaces a job's questions by those of a list. When a row is refused, nothing is changed, and the
// answer has all faults of each row, of the first 50.
func importQuestions(r *rest.Request) (any, error) {
	t := r.Tenant
	rows, err := questionRows(r)
	if err != nil {
		return nil, err
	}
	questions, err := accepted(rows)
	if err != nil {
		return nil, err
	}
	var saved model.Job
	err = r.Update(func(tx *store.Tx) error {
		j, ok, err := tx.Job(t.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.Expect(""), noJob)
		}
		if err := r.Expect(rest.Tag(&j.Row)); err != nil {
			return err
		}
		saved = *j
		saved.Questions = questions
		if err := rest.Invalid(checkJob(&saved)); err != nil { // the questions together
			return err
		}
		return tx.UpsertJob(&saved, r.Gateway.Now())
	})
	if err != nil {
		return nil, err
	}
	r.ETag = rest.Tag(&saved.Row)
	return &saved, nil
}

// accepted gives the questions of a list in which no row is refused.
func accepted(rows []row) ([]model.Question, error) {
	if len(rows) > model.MaxQuestions {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "the list has more than %d questions, the next one at %s, "+
			"and nothing was imported: leave some out, and send all of the list again", model.MaxQuestions,
			rows[model.MaxQuestions].at)
	}
	questions := make([]model.Question, len(rows))
	first := map[string]string{}
	var findings []string
	refused := 0
	for n, one := range rows {
		faults := one.faults
		if len(faults) == 0 {
			faults = faultsOf(&one.q)
		}
		if at, ok := first[one.q.ID]; ok && one.q.ID != "" {
			faults = append(faults, "id is that of "+at+": give each question its own")
		} else {
			first[one.q.ID] = one.at
		}
		if len(faults) > 0 {
			if refused++; refused <= schemas.MaxFindings {
				findings = append(findings, one.at+": "+strings.Join(faults, "; "))
			}
		}
		questions[n] = one.q
	}
	if refused == 0 {
		return questions, nil
	}
	sentence := fmt.Sprintf("%d of %d rows were refused, and nothing was imported: mend them, and send "+
		"all of the list again", refused, len(rows))
	if refused > len(findings) {
		sentence += fmt.Sprintf("; the first %d are listed", len(findings))
	}
	p := problem.New(http.StatusUnprocessableEntity, sentence)
	p.Findings = findings
	return nil, p
}

func faultsOf(q *model.Question) (faults []string) {
	if wrong := new(model.InvalidError); errors.As(model.ValidateQuestion(q), &wrong) {
		faults = slices.Clone(wrong.Faults)
	}
	if fault := compliance.Reserved(q.ID); fault != "" {
		faults = append(faults, fault)
	}
	return faults
}

// rows reads the list of the body, by its media type, up to the first row that is one too many.
func questionRows(r *rest.Request) ([]row, error) {
	switch gateway.TextType(r.Header) {
	case "application/json":
		return jsonRows(r.Content)
	case "text/csv":
		return csvRows(r.Content)
	}
	return nil, problem.New(http.StatusUnsupportedMediaType,
		"send the questions as JSON or CSV, with the header Content-Type: application/json or text/csv")
}

// jsonRows reads an array of questions. A row stands where its object begins.
func jsonRows(body []byte) (rows []row, err error) {
	in := jsontext.NewDecoder(bytes.NewReader(body))
	bad := func(err error) error {
		if broken := new(jsontext.SyntacticError); errors.As(err, &broken) {
			return problem.Newf(http.StatusBadRequest,
				"the body is not JSON (line %d): send an array of questions in UTF-8, and nothing after it",
				lineAt(body, broken.ByteOffset))
		}
		return problem.New(http.StatusBadRequest,
			"the body is not JSON: send an array of questions in UTF-8, and nothing after it")
	}
	if in.PeekKind() != '[' {
		if _, err := in.ReadToken(); err != nil {
			return nil, bad(err)
		}
		return nil, problem.New(http.StatusBadRequest, "the body is no array: send the questions as a JSON array")
	}
	if _, err := in.ReadToken(); err != nil {
		return nil, bad(err)
	}
	line, counted := 1, int64(0) // lines are counted up to here
	for in.PeekKind() != ']' {
		raw, err := in.ReadValue()
		if err != nil {
			return nil, bad(err)
		}
		begin := in.InputOffset() - int64(len(raw))
		line += bytes.Count(body[counted:begin], []byte{'\n'})
		counted = begin
		one := row{at: fmt.Sprintf("line %d, question %d", line, len(rows)+1)}
		if len(rows) == model.MaxQuestions {
			return append(rows, one), nil
		}
		if err := json.Unmarshal(raw, &one.q, json.RejectUnknownMembers(true)); err != nil {
			one.faults = []string{rest.Unreadable(err)}
		}
		rows = append(rows, one)
	}
	if _, err := in.ReadToken(); err != nil {
		return nil, bad(err)
	}
	if _, err := in.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, bad(err)
	}
	return rows, nil
}

// lineAt returns the line of a byte, from 1.
func lineAt(body []byte, offset int64) int {
	return 1 + bytes.Count(body[:min(offset, int64(len(body)))], []byte{'\n'})
}

// columns lists the columns that a CSV file may have, in any order and any case; the first three are required.
var columns = []string{"id", "format", "label", "isRequired", "options", "maxLength", "check", "group"}

// csvRows reads questions as RFC 4180 has it, with a header line; where that has a semicolon and no comma, semicolons
// separate.
func csvRows(body []byte) (rows []row, err error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) {
		return nil, problem.New(http.StatusBadRequest, "the file is not valid UTF-8: save it as CSV in UTF-8")
	}
	in := csv.NewReader(bytes.NewReader(body))
	in.FieldsPerRecord = -1
	if header, _, _ := bytes.Cut(body, []byte{'\n'}); bytes.ContainsRune(header, ';') && !bytes.ContainsRune(header, ',') {
		in.Comma = ';'
	}
	header, err := in.Read()
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, "the file has no header line that can be read: begin it with "+
			"id,format,label,isRequired,options,maxLength,check")
	}
	names, err := named(header)
	if err != nil {
		return nil, err
	}
	for {
		cells, err := in.Read()
		switch broken := new(csv.ParseError); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case errors.As(err, &broken): // where the next row begins can't be told
			return append(rows, row{at: fmt.Sprintf("line %d", broken.Line),
				faults: []string{"has a quote that can't be read: write each quote within a cell in quotes twice; " +
					"what follows was not looked at"}}), nil
		case err != nil:
			return nil, problem.New(http.StatusBadRequest, "the file can't be read as CSV")
		}
		line, _ := in.FieldPos(0)
		rows = append(rows, csvRow(fmt.Sprintf("line %d", line), names, cells))
		if len(rows) > model.MaxQuestions {
			return rows, nil
		}
	}
}

// named finds the columns that a header line names.
func named(header []string) (names []string, err error) {
	for _, cell := range header {
		n := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, strings.TrimSpace(cell)) })
		if n < 0 {
			return nil, problem.Newf(http.StatusBadRequest, "the file has a column %.40q, which is unknown: use %s", cell,
				strings.Join(columns, ", "))
		}
		if slices.Contains(names, columns[n]) {
			return nil, problem.New(http.StatusBadRequest, "the file has the column "+columns[n]+" twice: leave one out")
		}
		names = append(names, columns[n])
	}
	for _, must := range columns[:3] {
		if !slices.Contains(names, must) {
			return nil, problem.New(http.StatusBadRequest,
				"the file has no column "+must+": add it, and name it in the header line")
		}
	}
	return names, nil
}

func csvRow(at string, names, cells []string) row {
	one := row{at: at}
	if len(cells) != len(names) {
		one.faults = []string{fmt.Sprintf("has %d cells, and the header line %d: put cells with a "+
			"separator in them into quotes", len(cells), len(names))}
		return one
	}
	for n, cell := range cells {
		q := &one.q
		if names[n] != "label" {
			cell = strings.TrimSpace(cell)
		}
		switch names[n] {
		case "id":
			q.ID = cell
		case "format":
			q.Format = model.Format(cell)
		case "label":
			q.Label = cell
		case "check":
			q.Check = cell
		case "isRequired":
			switch strings.ToLower(cell) {
			case "true", "yes", "1":
				q.IsRequired = true
			case "", "false", "no", "0":
			default:
				one.faults = append(one.faults, "isRequired can't be read: write true or false")
			}
		case "options":
			if cell != "" {
				for _, option := range model.SplitOptions(cell) {
					q.Options = append(q.Options, strings.TrimSpace(option))
				}
			}
		case "maxLength":
			if cell != "" {
				if most, err := strconv.Atoi(cell); err == nil {
					q.MaxLength = &most
				} else {
					one.faults = append(one.faults, "maxLength is no number: write one such as 255, or nothing")
				}
			}
		case "group":
			if cell != "" {
				q.Group = &cell
			}
		}
	}
	if len(one.faults) > 0 { // and what else is wrong
		one.faults = append(one.faults, faultsOf(&one.q)...)
	}
	return one
}
