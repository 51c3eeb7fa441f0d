package apply_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/schemas"
)

// everyFormat are a question of each format, and one for a resume.
func everyFormat() []model.Question {
	ten := 10
	return []model.Question{
		{ID: "1", Format: model.Checkbox, Label: "Shifts", Options: []string{"Day", `On\call`, "A | B"}},
		{ID: "2", Format: model.Date, Label: "Day"},
		{ID: "3", Format: model.File, Label: "Letter"},
		{ID: "4", Format: model.Number, Label: "Years"},
		{ID: "5", Format: model.Phone, Label: "Phone"},
		{ID: "6", Format: model.Select, Label: "Ward", Options: []string{"A", "B"}},
		{ID: "7", Format: model.Text, Label: "Motto", MaxLength: &ten},
		{ID: "8", Format: model.Textarea, Label: "Why"},
		{ID: "9", Format: model.Text, Label: "Referee", Check: model.CheckEmail},
		{ID: "firstName", Format: model.Text, Label: "First name"},
		{ID: "resume", Format: model.File, Label: "Resume"},
	}
}

// inBothOrders are two applications of the same answers: the job's questions are known before the answers, and after.
func inBothOrders(t *testing.T, board string, answers ...answered) []string {
	t.Helper()
	raw, err := json.Marshal(answers)
	require.NoError(t, err)
	code, err := json.Marshal(board)
	require.NoError(t, err)
	return []string{
		`{"jobBoardCode":` + string(code) + `,"source":"","answers":` + string(raw) + `}`,
		`{"answers":` + string(raw) + `,"source":"","jobBoardCode":` + string(code) + `}`,
	}
}

func item(id string, messages ...string) map[string]any {
	return map[string]any{"questionId": id, "messages": messages}
}

// What is wrong is told in the same words, whichever way it was found: while the answer arrived or afterwards.
func TestEveryFormat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	b.job("acme", &model.Job{BoardCode: "EVERY", ID: "job-7", Questions: everyFormat()})
	encoded := func(content string) string { return base64.StdEncoding.EncodeToString([]byte(content)) }
	pdf := func(size int) string { return encoded("%PDF-1.4\n" + strings.Repeat("x", size-9)) }
	for _, c := range map[string]struct {
		answers []answered
		items   []any
	}{
		"all wrong": {
			[]answered{{"zzz", "x"}, {"resume", pdf(100)}, {"9", "Bob <bob@x>"}, {"8", strings.Repeat("x", 1<<20+1)},
				{"7", "ééééééééééé"}, {"6", "a"}, {"5", "123456"}, {"4", "1e5"},
				{"3", "?"}, {"2", "2023-02-29"}, {"1", "Day|Day|Night"}, {"firstName", "A\x00"}, {"resume", pdf(100)},
				{"aaa", "x"}},
			[]any{
				item("1", "Shifts: "+schemas.ChooseOnce, "Shifts: "+schemas.ChooseSome), item("2", "Day: "+schemas.NotDate),
				item("3", "Letter: "+schemas.NotBase64),
				item("4", "Years: "+schemas.NotNumber), item("5", "Phone: at least 7 digits are needed"),
				item("6", "Ward: "+schemas.ChooseOne), item("7", "Motto: at most 10 characters are allowed"),
				item("8", "Why: "+schemas.TooLarge), item("9", "Referee: "+schemas.NotEmail),
				item("firstName", "First name: "+schemas.NotStorable), item("resume", "Resume: "+schemas.Repeated),
				item("zzz", schemas.Unasked), item("aaa", schemas.Unasked),
			},
		},
		"prefix": {[]answered{{"3", "data:application/pdf;base64," + pdf(20)}},
			[]any{item("3", "Letter: "+schemas.HasPrefix)}},
		"long blank":  {[]answered{{"3", strings.Repeat(" \n\u00a0", 100_000)}}, []any{}},
		"10 MiB":      {[]answered{{"3", pdf(10 << 20)}}, []any{item("3", "Letter: "+schemas.LargeFile)}},
		"2 MiB":       {[]answered{{"resume", pdf(2 << 20)}}, []any{item("resume", "Resume: "+schemas.LargeResume)}},
		"10 MiB less": {[]answered{{"3", pdf(10<<20 - 1)}, {"resume", pdf(2<<20 - 1)}}, []any{}},
		"line breaks": {[]answered{{"resume", pdf(150)[:76] + "\r\n" + strings.TrimRight(pdf(150)[76:], "=")}}, []any{}},
		"blank": {[]answered{{"1", " "}, {"2", ""}, {"3", " \n"}, {"4", "\t"}, {"5", ""}, {"6", ""},
			{"7", strings.Repeat(" ", 11)}, {"8", ""}, {"9", ""}, {"resume", ""}}, []any{}},
		"all right": {[]answered{{"1", `On\\call|A \| B`}, {"2", "2024-02-29"}, {"3", encoded("a letter")}, {"4", "-2.5"},
			{"5", "+1 555 0100 9"}, {"6", "B"}, {"7", "éééééééééé"}, {"8", strings.Repeat("x", 1<<20)}, {"9", "bob@x"},
			{"firstName", "Ann"}}, []any{}},
		"empty string": {[]answered{{"", "x"}}, []any{item("", schemas.Unasked)}},
	} {
		b.requireSameCheck("EVERY", c.answers, c.items)
		for _, body := range inBothOrders(t, "EVERY", c.answers...) {
			w := b.apply(body, me...)
			if len(c.items) == 0 {
				b.requireTaken(w)
				continue
			}
			raw, err := json.Marshal(c.items)
			require.NoError(t, err)
			b.requireError(w, http.StatusBadRequest, "some answers are not valid: see errors", string(raw))
		}
	}
}

// A file of each type is taken where the contract has the type, and becomes a document of that type; others are
// refused.
func TestFileTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	b.job("acme", &model.Job{BoardCode: "EVERY", ID: "job-7", Questions: everyFormat()})
	count := map[string]int{}
	for _, folder := range []string{"accepted", "refused"} {
		paths, err := filepath.Glob("../../testdata/files/" + folder + "/*")
		require.NoError(t, err)
		for _, path := range paths {
			content := unpacked(t, path)
			found, err := filetype.Detect(bytes.NewReader(content), int64(len(content)))
			require.NoError(t, err)
			for question, wrong := range map[string]string{"3": "Letter: " + schemas.WrongType,
				"resume": "Resume: " + schemas.WrongResumeType} {
				if found.Name == filetype.Protected {
					label, _, _ := strings.Cut(wrong, ":")
					wrong = label + ": " + schemas.ProtectedFile
				}
				taken := folder == "accepted" && (question == "3" || slices.Contains(filetype.ForResume(), found.Name))
				w := b.apply(application(t, "EVERY", []answered{{question, base64.StdEncoding.EncodeToString(content)}}), me...)
				switch {
				case len(content) == 0:
					b.requireTaken(w) // an empty string is no answer
				case taken:
					docs, _, err := b.Runtime.Store().ListApplicationDocuments(t.Context(), "acme", b.requireTaken(w), 0, 10)
					require.NoError(t, err)
					require.Len(t, docs, 1)
					require.Equal(t, found.Name, docs[0].MediaType, path)
					require.Equal(t, question+found.Extension, docs[0].FileName, path)
					count[question]++
				default:
					raw, err := json.Marshal([]any{item(question, wrong)})
					require.NoError(t, err)
					b.requireError(w, http.StatusBadRequest, "some answers are not valid: see errors", string(raw))
					count["refused "+question]++
				}
			}
		}
	}
	require.Equal(t, map[string]int{"3": 54, "resume": 27, "refused 3": 35, "refused resume": 62}, count)
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	if !strings.HasSuffix(path, ".ppt.gz") {
		return content
	}
	packed, err := gzip.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	content, err = io.ReadAll(packed)
	require.NoError(t, err)
	return content
}

// The answers that are no files have a limit together.
func TestLargeAnswersTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	var questions []model.Question
	var answers []answered
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		questions = append(questions, model.Question{ID: id, Format: model.Textarea, Label: "Why"})
		answers = append(answers, answered{id, strings.Repeat("x", 1<<20)})
	}
	short := answered{"5", "x"} // stays in memory
	half := answered{"4", strings.Repeat("x", 1<<19)}
	b.job("acme", &model.Job{BoardCode: "LONG", ID: "job-9", Questions: questions})
	for _, c := range []struct {
		answers []answered
		tooMuch string // the question; empty: none
	}{
		{answers, "5"}, {answers[:4], ""}, {append(answers[:4:4], short), "5"},
		{append([]answered{short}, answers[:4]...), "4"},
		{append(answers[:3:3], half, short), ""}, {slices.Concat([]answered{short}, answers[:3], []answered{half}), ""},
	} {
		for _, body := range inBothOrders(t, "LONG", c.answers...) {
			w := b.apply(body, me...)
			if c.tooMuch == "" {
				b.requireTaken(w)
				continue
			}
			b.requireError(w, http.StatusBadRequest, "some answers are not valid: see errors",
				`[{"questionId":"`+c.tooMuch+`","messages":["Why: `+schemas.TooLargeAll+`"]}]`)
		}
	}
}

// A job's questions hold from the moment at which they are changed.
func TestChangedQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.bearer(partner)
	body := application(t, "CHANGES", []answered{{"1", "soon"}})
	for _, format := range []model.Format{model.Text, model.Date, model.Textarea, model.Number} {
		b.job("acme", &model.Job{BoardCode: "CHANGES", ID: "job-8",
			Questions: []model.Question{{ID: "1", Format: format, Label: "When"}}})
		w := b.apply(body, me...)
		switch format {
		case model.Date:
			b.requireError(w, http.StatusBadRequest, "some answers are not valid: see errors",
				`[{"questionId":"1","messages":["When: `+schemas.NotDate+`"]}]`)
		case model.Number:
			b.requireError(w, http.StatusBadRequest, "some answers are not valid: see errors",
				`[{"questionId":"1","messages":["When: `+schemas.NotNumber+`"]}]`)
		default:
			b.requireTaken(w)
		}
	}
}
