package schemas

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/filetype"
	"github.com/hiregate/hiregate/internal/model"
)

// verdict is an answer and what is wrong with it.
type verdict struct {
	answer Answer
	faults []string // in the order of the alphabet; nil: nothing
}

func right(texts ...string) (all []verdict) { return wrong(nil, texts...) }

func wrong(faults []string, texts ...string) (all []verdict) {
	for _, s := range texts {
		all = append(all, verdict{Answer{Text: s}, faults})
	}
	return all
}

func file(mediaType string, size int64, faults ...string) verdict {
	return verdict{Answer{File: &File{mediaType, size}}, faults}
}

func is(faults ...string) []string { return faults }

func limited(format model.Format, most int) model.Question {
	return model.Question{Format: format, MaxLength: &most}
}

// judged are questions, with answers to them right and wrong.
func judged() map[string]struct {
	question model.Question
	verdicts [][]verdict
} {
	type row = struct {
		question model.Question
		verdicts [][]verdict
	}
	shifts := []string{"Day", "Night", "Weekend | Holiday", `On\call`}
	var countries []string
	for n := range maxCitizenShip + 1 {
		countries = append(countries, strconv.Itoa(n))
	}
	odd := []string{`a\|b`, `a|b`, `a\b`, `a\\b`, " x ", "é", "|", "||"}
	return map[string]row{
		"checkbox": {model.Question{Format: model.Checkbox, Options: shifts}, [][]verdict{
			right("Day", "Night|Day", `Weekend \| Holiday`, `On\call`, `On\\call`, `Day|Night|Weekend \| Holiday|On\call`,
				`On\\call|Weekend \| Holiday|Night`, " ", ""),
			wrong(is(ChooseOnce), "Day|Day", strings.Repeat("Day|", 100_000), `On\call|On\\call`,
				`Weekend \| Holiday|Weekend \| Holiday`),
			wrong(is(ChooseSome), "day", "Day ", " Day", "Day, Night", "Day;Night", "Noon", "Weekend | Holiday",
				`Weekend \\| Holiday`, "Weekend", `On\\\call`, `On/call`, "Oncall",
				"Day|", "|Day", `\|`, `\`, "Day|Noon", `Day\|Night`, "Day\n", "Day\x00", `["Day"]`),
			wrong(is(ChooseSome), "Day||", "|", "||||||||", strings.Repeat("x|", 100_000), "Noon|Noon"),
			wrong(is(ChooseOnce, ChooseSome), "Day|Day|Noon"),
			wrong(is(ChooseSome), "Noon|Day|Day|Noon"),
		}},
		"checkbox of odd options": {model.Question{Format: model.Checkbox, Options: odd}, [][]verdict{
			right(`a\\|b`, `a\|b`, `a\b`, `a\\b`, `a\b|a\\b`, ` x `, "é", `\|`, `\|\|`, `\||\|\|`, `a\\\|b`, ` x |é|a\b`),
			wrong(is(ChooseSome), `a`, `x`, "e\u0301", `a|b`, `\\|b`),
		}},
		"checkbox of none": {model.Question{Format: model.Checkbox},
			[][]verdict{wrong(is(ChooseSome), "Day"), right("", "  ")}},
		"citizenWorkStatus": {model.Question{Format: model.Checkbox, Options: countries}, [][]verdict{
			right(strings.Join(countries[:maxCitizenShip], "|"), "1"),
			wrong(is(ChooseFewer), strings.Join(countries, "|")),
			wrong(is(ChooseFewer, ChooseOnce), strings.Join(countries[:maxCitizenShip], "|")+"|1"),
			wrong(is(ChooseFewer, ChooseSome), strings.Join(countries[:maxCitizenShip], "|")+"|x"),
		}},
		"checkbox of many": {model.Question{Format: model.Checkbox, Options: countries},
			[][]verdict{right(strings.Join(countries, "|"))}},
		"select": {model.Question{Format: model.Select, Options: []string{"Authorized", "Needs sponsorship", "A|B", `C\D`,
			"é", "é", "0"}}, [][]verdict{
			right("Authorized", "Needs sponsorship", "A|B", `C\D`, "é", "0", "", "\t"),
			wrong(is(ChooseOne), "authorized", "Authorized ", " Authorized", "Authorized|Needs sponsorship", `A\|B`, `C\\D`,
				"A", "e\u0301", "Authorized\n", "null", "0.0", "Needs  sponsorship", strings.Repeat("x", 1<<20)),
		}},
		"select of none": {model.Question{Format: model.Select}, [][]verdict{wrong(is(ChooseOne), "x"), right("")}},
		"date": {model.Question{Format: model.Date}, [][]verdict{
			right("2024-02-29", "2000-02-29", "2026-12-31", "2026-04-30", "0001-01-01", "9999-12-31", "", " "),
			wrong(is(NotDate), "2023-02-29", "2100-02-29", "1900-02-29", "2026-04-31", "2026-02-30", "2026-13-01", "2026-00-10",
				"2026-10-00", "2026-10-32", "0000-01-01",
				"2026-1-2", "26-10-02", "20261002", "02.10.2026", "10/02/2026", "2026/10/02", "2026-10-02T00:00:00Z",
				" 2026-10-02", "2026-10-02 ", "2026-10-02\n", "+2026-10-02", "-2026-10-2", "２０２６-10-02", "tomorrow"),
		}},
		"number": {model.Question{Format: model.Number}, [][]verdict{
			right("0", "3", "-2.5", "+7", "007", "3.0", "0.000", strings.Repeat("9", 64),
				"-"+strings.Repeat("1", 31)+"."+strings.Repeat("2", 31), ""),
			wrong(is(NotNumber), "1e5", "3.", ".5", "--1", "+-1", "1,000", "1.2.3", "0x10", "٣", "three", " 3", "3 ", "3\n",
				"NaN", "Infinity", "½", "-", "+", "1 000", "3\x00"),
			wrong(is("at most 64 characters are allowed"), strings.Repeat("9", 65), strings.Repeat("0", 1<<20)),
			wrong(is("at most 64 characters are allowed", NotNumber), strings.Repeat("x", 65)),
		}},
		"phone": {model.Question{Format: model.Phone}, [][]verdict{
			right("1234567", "+1 (555) 010-9999", "0049 30 / 1234", "555-0199 ext. 7", "1 2 3 4 5 6 7", strings.Repeat("1", 64),
				strings.Repeat("é", 57)+"1234567", ""),
			wrong(is(NotPhone), "123456", "1-2-3-4-5-6", "call me", "٠١٢٣٤٥٦", "１２３４５６７", "+", "555-019"),
			wrong(is("at most 64 characters are allowed"), strings.Repeat("1", 65), strings.Repeat("é", 58)+"1234567"),
			wrong(is(NotPhone, "at most 64 characters are allowed"), strings.Repeat("x", 65)),
		}},
		"email": {model.Question{Format: model.Text}, [][]verdict{
			right("ann@example.com", "a.b+c@sub.example.co.uk", "ANN@EXAMPLE.COM", "jörg@köln.example", "bob@x",
				"o'neil@example.com", ""),
			wrong(is(NotEmail), "Bob <bob@x>", "<bob@x>", "bob", "bob@", "@x", "bob@x, ann@y", "bob@x;ann@y", "bob@@x",
				"bob @x", " bob@x", "bob@x ", "bob@x (Bob)", "bob..b@x", ".bob@x", "bob@x..y", `"a b"@x`,
				"mailto:bob@x", "bob@x>"),
			right(strings.Repeat("a", 252) + "@x"),
			wrong(is("at most 254 characters are allowed"), strings.Repeat("a", 253)+"@x"),
			wrong(is("at most 254 characters are allowed", TooPersonal), strings.Repeat("a", maxPersonal-1)+"@x"),
			wrong(is(NotStorable, NotEmail), "bob\x00@x"),
			wrong(is(NotSeen, NotEmail), "bob@x\n", "bob\x1b@x"),
			wrong(is(NotSeen), "\u202ebob@x", "bob@x\u2066y"),
		}},
		"another question that wants an e-mail address": {model.Question{Format: model.Text, Check: model.CheckEmail},
			[][]verdict{
				right("ann@example.com", ""), wrong(is(NotEmail), "Bob <bob@x>", "bob"),
				wrong(is("at most 254 characters are allowed"), strings.Repeat("a", 253)+"@x"),
			}},
		"text": {limited(model.Text, 5), [][]verdict{
			right("abcde", "ééééé", "😀😀😀😀😀", "e\u0301e\u0301e", "日本語日本", " a b ", "<b>", "a\nb", "", "          "),
			wrong(is("at most 5 characters are allowed"), "abcdef", "éééééé", "😀😀😀😀😀😀", "e\u0301e\u0301e\u0301", "    a ",
				"ab\r\ncd"),
		}},
		"text without a limit": {model.Question{Format: model.Text},
			[][]verdict{right("x", strings.Repeat("x", 1<<20), "bob", "a\x00b", "\u200b")}},
		"text of one": {limited(model.Text, 1), [][]verdict{right("é"), wrong(is(TooLongForOne), "éé")}},
		"text of none": {limited(model.Text, 0), [][]verdict{right(""),
			wrong(is("at most 0 characters are allowed"), "x")}},
		"textarea": {limited(model.Textarea, 2000), [][]verdict{
			right(strings.Repeat("x", 2000), strings.Repeat("é", 2000), strings.Repeat("😀", 2000), "line\nline\r\n"),
			wrong(is("at most 2000 characters are allowed"), strings.Repeat("x", 2001), strings.Repeat("é", 2001),
				strings.Repeat("x", 2000)+" "),
		}},
		"firstName": {model.Question{Format: model.Text}, [][]verdict{
			right("Ann", strings.Repeat("x", maxPersonal)),
			wrong(is(TooPersonal), strings.Repeat("x", maxPersonal+1), strings.Repeat("é", maxPersonal/2+1)),
			wrong(is(NotStorable), "A\x00"),
			right("می\u200cخواهم", "नि\u200dरज", "\u05d0\u05d1\u200f", "Ann\u200e", "O'Neil-Ødegård 3"),
			wrong(is(NotSeen), "A\nB", "A\tB", "A\x1b[31m", "A\x7f", "A\u0085", "A\u009b", "\u202aA", "\u202eA", "\u2066A", "A\u2069"),
		}},
		"other limits than those of text": {limited(model.Phone, 3), [][]verdict{right("1234567")}},
		"file": {model.Question{Format: model.File}, [][]verdict{
			{file("application/pdf", 1), file("application/pdf", MaxFile-1), file("video/mpeg", MaxResume)},
			{file("application/pdf", MaxFile, LargeFile), file("text/html", MaxFile, LargeFile),
				file("application/pdf", 1<<40, LargeFile)},
			{file("application/x-empty", 0, EmptyFile), file("application/pdf", 0, EmptyFile)},
			{file("", 1, WrongType), file("text/html", 1, WrongType), file("text/csv", 1, WrongType),
				file("application/PDF", 1, WrongType), file("text/plain; charset=utf-8", 1, WrongType)},
			right(""), ofTypes(filetype.All(), nil), ofTypes(refusedTypes, is(WrongType)),
			{file(filetype.Protected, 1, ProtectedFile)},
		}},
		"resume": {model.Question{Format: model.File}, [][]verdict{
			{file("application/pdf", 1), file("application/pdf", MaxResume-1)},
			{file("application/pdf", MaxResume, LargeResume), file("image/png", MaxFile, LargeResume)},
			{file("application/pdf", 0, EmptyFile)},
			ofTypes(filetype.ForResume(), nil), ofTypes(without(filetype.All(), filetype.ForResume()), is(WrongResumeType)),
			ofTypes(refusedTypes, is(WrongResumeType)), {file(filetype.Protected, 1, ProtectedFile)},
		}},
	}
}

var refusedTypes = []string{
	"text/html", "application/java-archive", "application/x-empty", "application/vnd.microsoft.portable-executable",
	"image/svg+xml", "text/x-shellscript",
	"application/octet-stream", "application/x-ole-storage", "application/json", "text/xml",
	"application/vnd.android.package-archive", "text/javascript",
}

func ofTypes(names []string, faults []string) (all []verdict) {
	for _, name := range names {
		all = append(all, file(name, 1, faults...))
	}
	return all
}

func without(all, some []string) (rest []string) {
	not := strings.Join(some, " ")
	for _, name := range all {
		if !strings.Contains(" "+not+" ", " "+name+" ") {
			rest = append(rest, name)
		}
	}
	return rest
}

// judge checks each answer of the table by itself: to the question as it is, and as one that must be answered.
func judge(t *testing.T, check func(name string, q model.Question, a *Answers, v verdict, faults []string)) {
	t.Helper()
	for name, row := range judged() {
		for _, required := range []bool{false, true} {
			q := row.question
			q.ID, q.Label, q.IsRequired = name, "L", required
			a := answersTo(t, q)
			for _, verdicts := range row.verdicts {
				for _, v := range verdicts {
					v.answer.QuestionID = name
					faults := v.faults
					if required && v.answer.File == nil && strings.TrimSpace(v.answer.Text) == "" {
						faults = []string{Required}
					}
					check(name, q, a, v, faults)
				}
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	valid, invalid := 0, 0
	judge(t, func(name string, q model.Question, a *Answers, v verdict, faults []string) {
		got := a.Check([]Answer{v.answer})
		if len(faults) == 0 {
			require.Nil(t, got, "%s: %.60q %v", name, v.answer.Text, v.answer.File)
			valid++
			return
		}
		var want []string
		for _, f := range faults {
			want = append(want, "L: "+f)
		}
		require.Len(t, got, 1, "%s: %.60q %v", name, v.answer.Text, v.answer.File)
		require.Equal(t, q.ID, got[0].QuestionID)
		require.Equal(t, q.Format, got[0].Format)
		require.ElementsMatch(t, want, got[0].Messages, "%s: %.60q %v", name, v.answer.Text, v.answer.File)
		require.IsIncreasing(t, append([]string{""}, got[0].Messages...), "the order is always the same")
		invalid++
	})
	t.Logf("%d answers right, %d wrong", valid, invalid)
	require.Greater(t, valid, 150)
	require.Greater(t, invalid, 150)
}

// It is the schema that finds what is wrong: without one, every answer is right.
func TestWithoutASchemaEveryAnswerIsRight(t *testing.T) {
	t.Parallel()
	anything, err := compileDocument(map[string]any{})
	require.NoError(t, err)
	judge(t, func(name string, _ model.Question, a *Answers, v verdict, _ []string) {
		without := *a
		without.compiled = anything
		require.Nil(t, without.Check([]Answer{v.answer}), "%s: %.60q", name, v.answer.Text)
		require.Nil(t, without.Check([]Answer{{QuestionID: "stranger"}}))
	})
}

// The library's errors repeat all options: thousands of wrong choices must not make thousands of them.
func TestWrongChoicesTakeLittleMemory(t *testing.T) {
	options, parts := make([]string, 1000), make([]string, 1000)
	for n := range options {
		options[n], parts[n] = strings.Repeat("o", 100)+strconv.Itoa(n), "x"+strconv.Itoa(n)
	}
	a := answersTo(t, model.Question{ID: "q", Format: model.Checkbox, Options: options})
	given := []Answer{{QuestionID: "q", Text: strings.Join(parts, "|")}}
	took := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			require.Len(t, a.Check(given), 1)
		}
	})
	require.Less(t, took.AllocedBytesPerOp(), int64(2<<20))
}

// Choices are the options that were chosen, whichever way a backslash was written.
func TestChoices(t *testing.T) {
	t.Parallel()
	q := &model.Question{ID: "q", Format: model.Checkbox, Options: []string{"Day", "Weekend | Holiday", `On\call`, `a\\b`, `a\b`}}
	a := answersTo(t, *q)
	for answer, want := range map[string][]string{
		"Day":                             {"Day"},
		`On\call|Day`:                     {`On\call`, "Day"},
		`On\\call`:                        {`On\call`},
		`Weekend \| Holiday|On\\call`:     {"Weekend | Holiday", `On\call`},
		`a\b|a\\b`:                        {`a\b`, `a\\b`},
		`a\\\\b`:                          {`a\\b`},
		"No|":                             {"No"},
		"":                                {""},
		strings.Repeat("|", 1000) + "Day": {""},
		strings.Repeat("Day|", 1000):      {"Day", "Day", "Day", "Day", "Day", "Day"},
	} {
		require.Equal(t, want, a.Choices(q, answer), answer)
	}
}

func FuzzChoices(f *testing.F) {
	for _, s := range []string{`Day|On\\call`, `Weekend \| Holiday`, `\`, `|`, `\\|`} {
		f.Add(s)
	}
	q := model.Question{ID: "q", Format: model.Checkbox, Options: []string{"Day", "Weekend | Holiday", `On\call`}}
	a := answersTo(f, q)
	f.Fuzz(func(t *testing.T, s string) {
		chosen := a.Choices(&q, s)
		require.LessOrEqual(t, len(chosen), len(q.Options)+1)
		if strings.TrimSpace(s) == "" || len(a.Check([]Answer{{QuestionID: "q", Text: s}})) > 0 {
			return
		}
		escaped := make([]string, len(chosen))
		for n, c := range chosen {
			require.Contains(t, q.Options, c)
			escaped[n] = strings.ReplaceAll(c, "|", `\|`)
		}
		require.Equal(t, chosen, a.Choices(&q, strings.Join(escaped, "|")), "what was chosen can be written again")
	})
}
