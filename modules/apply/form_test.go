package apply_test

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/apply/form"
)

const careers = "https://www.acme.example"

// formFixture is a fixture with acme's forms.
type formFixture struct {
	*fixture
	form *form.Form
}

func setupForm(t testing.TB) *formFixture {
	t.Helper()
	b := setup(t)
	return &formFixture{fixture: b, form: form.New(form.Form{Applications: b.API, Gateway: b.Fixture.Gateway, Tenant: "acme",
		Look: form.Look{Name: "Acme Hospitals"}, Origins: []string{careers}, Jobs: careers + "/jobs", Privacy: careers + "/privacy",
		Source: "Acme careers", Guards: form.NewGuards(), Log: b.Fixture.Log,
		Address: func(r *http.Request) string { return r.RemoteAddr }})}
}

// filled are right answers to all that the sample requires, by the name of their field.
func filled() map[string]string {
	return map[string]string{
		"once": "key-1", "a.firstName": "Ada", "a.lastName": "Lovelace", "a.email": "ada@example.com",
		"a.citizenWorkStatus": "Authorized", "a.1000123": "Day\x00Weekend | Holiday",
		"a.eeocDisability": "I do not want to answer", "a.eeocDisabilitySignature": "Ada Lovelace",
		"a.eeocDisabilitySignatureDate": "2026-11-20",
	}
}

// but returns fields with some changed, or removed where the value is without.
func but(fields map[string]string, changes ...string) map[string]string {
	fields = maps.Clone(fields)
	for n := 0; n < len(changes); n += 2 {
		if fields[changes[n]] = changes[n+1]; changes[n+1] == without {
			delete(fields, changes[n])
		}
	}
	return fields
}

// attached is a file of a form.
type attached struct{ field, name, content string }

// post sends a form. A value with U+0000 stands for several. Headers are name and value in turn.
func (b *formFixture) post(path string, fields map[string]string, files []attached, headers ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range fields {
		for one := range strings.SplitSeq(value, "\x00") {
			require.NoError(b.t, w.WriteField(name, one))
		}
	}
	for _, one := range files {
		part, err := w.CreateFormFile(one.field, one.name)
		require.NoError(b.t, err)
		_, err = part.Write([]byte(one.content))
		require.NoError(b.t, err)
	}
	require.NoError(b.t, w.Close())
	return b.request(http.MethodPost, path, &body, append([]string{contentType, w.FormDataContentType()}, headers...)...)
}

func (b *formFixture) get(path string, headers ...string) *httptest.ResponseRecorder {
	return b.request(http.MethodGet, path, new(bytes.Buffer), headers...)
}

func (b *formFixture) request(method, path string, body *bytes.Buffer, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, body)
	r.RemoteAddr = "192.0.2.7"
	for n := 0; n < len(headers); n += 2 {
		if headers[n] == "From" {
			r.RemoteAddr = headers[n+1]
			continue
		}
		r.Header.Set(headers[n], headers[n+1])
	}
	w := httptest.NewRecorder()
	b.form.ServeHTTP(w, r)
	return w
}

func (b *formFixture) resume() []attached {
	return []attached{{"a.resume", `C:\papers\ada lovelace.pdf`, string(sample(b.t, "resume.pdf"))}}
}

var receiptOf = regexp.MustCompile(`class="receipt">([^<]+)<`)

// requireThanks is for a form that was taken in. It gives the receipt.
func (b *formFixture) requireThanks(w *httptest.ResponseRecorder) string {
	b.t.Helper()
	require.Equal(b.t, http.StatusOK, w.Code, "%s", w.Body)
	found := receiptOf.FindStringSubmatch(w.Body.String())
	require.NotNil(b.t, found, "%s", w.Body)
	return found[1]
}

// requireWrong is for a form that is shown again with these sentences in its summary.
func (b *formFixture) requireWrong(w *httptest.ResponseRecorder, sentences ...string) string {
	b.t.Helper()
	page := w.Body.String()
	require.Equal(b.t, http.StatusUnprocessableEntity, w.Code, "%s", page)
	summary := page[strings.Index(page, `class="summary"`):strings.Index(page, "<form")]
	require.Equal(b.t, len(sentences), strings.Count(summary, "<li>"), "%s", summary)
	for _, sentence := range sentences {
		require.Contains(b.t, html.UnescapeString(summary), sentence)
	}
	return page
}

func TestAFormBecomesAnApplication(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	page := b.get("/NURSE-1?source=Flyer")
	require.Equal(t, http.StatusOK, page.Code)
	for _, q := range sampleQuestions(t) {
		require.Contains(t, page.Body.String(), `name="a.`+q.ID+`"`)
	}
	require.Contains(t, page.Body.String(), "Voluntary Self-Identification of Disability", "the group's legal text")
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "frame-ancestors 'self' "+careers)
	require.Empty(t, page.Header().Get("Set-Cookie"))

	sent := but(filled(), "source", "Flyer", "a.firstName", "Garci\u0301a", "a.1000125", "One\r\ntwo")
	receipt := b.requireThanks(b.post("/NURSE-1", sent, b.resume()))
	all := b.applications("acme")
	require.Len(t, all, 1)
	require.Equal(t, receipt, all[0].ID)
	answers, err := b.Runtime.Store().ApplicationAnswers(t.Context(), "acme", receipt)
	require.NoError(t, err)
	require.Equal(t, "Flyer", answers.Source)
	got := map[string][]string{}
	for _, given := range answers.Answers {
		got[given.Question] = given.Values
	}
	require.Equal(t, []string{"Garc\u00eda"}, got["firstName"], "it is composed")
	require.Equal(t, []string{"Day", "Weekend | Holiday"}, got["1000123"])
	require.Equal(t, []string{"One\ntwo"}, got["1000125"])
	require.Len(t, b.files(), 1, "the kept file is gone, and the application's is there")

	require.Equal(t, http.StatusOK, b.get("/receipts/"+receipt).Code)
	require.NotContains(t, b.get("/receipts/"+receipt).Body.String(), "Garc")
	require.Equal(t, http.StatusNotFound, b.get("/receipts/other").Code)
	require.Equal(t, http.StatusNotFound, b.get("/CLOSED").Code)
	require.Equal(t, http.StatusNotFound, b.get("/OTHER").Code, "another tenant's")
}

func TestAFormIsShownAgainWithWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	sent := but(filled(), "a.email", "ada@", "a.1000124", "3,5", "a.eeocDisability", without)
	page := b.requireWrong(b.post("/NURSE-1", sent, b.resume()), "E-mail: Write one whole e-mail address",
		"Years of experience: Write a number in digits", "Please check one of the boxes below: Please choose an answer")
	require.Contains(t, page, "<title>3 answers need another look: Nurse</title>")
	require.Contains(t, page, `value="3,5"`, "what was typed is there")
	require.Contains(t, page, "ada lovelace.pdf", "without the folder")
	require.Empty(t, b.applications("acme"))

	token := regexp.MustCompile(`name="k.resume" value="([^"]+)"`).FindStringSubmatch(page)
	require.NotNil(t, token)
	b.requireThanks(b.post("/NURSE-1", but(filled(), "k.resume", html.UnescapeString(token[1])), nil))
	require.Len(t, b.files(), 1)

	page = b.post("/NURSE-1", but(filled(), "once", "key-2", "k.resume", html.UnescapeString(token[1])), nil).Body.String()
	require.Contains(t, page, "Resume: Please choose a file", "that file was used up")
	page = b.post("/NURSE-1", but(filled(), "once", "key-3", "k.resume", "../../secret/aa/1/x.pdf"), nil).Body.String()
	require.Contains(t, page, "Resume: Please choose a file", "such a file was never sent")
}

func TestWrongFilesAreErrorsAtTheirField(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	for name, tt := range map[string]struct{ content, sentence string }{
		"a.heic":     {"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1", "This is a HEIC picture"},
		"empty.pdf":  {"", "The file is empty"},
		"large.pdf":  {"%PDF-1.7\n" + strings.Repeat("x", 3<<20), "must be smaller than 2 MB"},
		"script.exe": {"MZ\x90\x00\x03" + strings.Repeat("\x00", 100), "Choose a PDF, Word"},
	} {
		w := b.post("/NURSE-1", filled(), []attached{{"a.resume", name, tt.content}}, "From", "192.0.2."+name)
		page := b.requireWrong(w, tt.sentence)
		require.NotContains(t, page, `name="k.resume"`, "it is not kept")
	}
}

// An answer of each format that is not valid: what is wrong is said at its field, in both languages, and what was typed stays.
func TestEachFormatSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	wrong := []struct{ field, value, english, german string }{
		{"a.firstName", "Ada\u202e", "First name: Take out the characters that can't be seen", "Nehmen Sie die Zeichen heraus"},
		{"a.lastName", strings.Repeat("x", 65), "Last name: Shorten this to 64 characters", "Kürzen Sie dies auf 64 Zeichen"},
		{"a.email", "ada@", "E-mail: Write one whole e-mail address", "Schreiben Sie eine ganze E-Mail-Adresse"},
		{"a.phone", "12 34", "Phone: Write at least 7 digits", "Schreiben Sie mindestens 7 Ziffern"},
		{"a.startDate", "2027-02-30", "Earliest start date: Write a day that exists", "Schreiben Sie einen Tag, den es gibt"},
		{"a.citizenWorkStatus", "authorized", "Work authorization: Choose one of the answers", "Wählen Sie eine der Antworten"},
		{"a.1000123", "Day\x00Noon", "Shifts you can work: Choose from the answers", "Wählen Sie aus den Antworten"},
		{"a.1000124", "3,5", "Years of experience: Write a number in digits", "Schreiben Sie eine Zahl in Ziffern"},
		{"a.1000125", strings.Repeat("x", 2001), "Why this job?: Shorten this to 2000 characters", "Kürzen Sie dies auf 2000 Zeichen"},
		{"a.eeocDisabilitySignatureDate", without, "Today's date: Please answer this", "Today's date: Bitte antworten Sie hier"},
	}
	sent, english := filled(), []string{"Resume: Choose a PDF, Word"}
	german := []string{"Resume: Wählen Sie PDF, Word"}
	for _, one := range wrong {
		sent = but(sent, one.field, one.value)
		english, german = append(english, one.english), append(german, one.german)
	}
	for lang, sentences := range map[string][]string{"en": english, "de": german} {
		page := b.requireWrong(b.post("/NURSE-1?lang="+lang, sent, []attached{{"a.resume", "a.exe", "MZ\x90\x00\x03" + strings.Repeat("\x00", 100)}}), sentences...)
		require.Equal(t, len(sentences), strings.Count(page, `<p class="error" id="`), "each is at its field, too")
		for _, typed := range []string{`value="12 34"`, `value="3,5"`, strings.Repeat("x", 2001), `value="Day" checked`} {
			require.Contains(t, page, typed)
		}
	}
	require.Empty(t, b.applications("acme"))
}

func TestTheSameFormGivesTheSameReceipt(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	var receipts [2]string
	var both sync.WaitGroup
	for n := range receipts { // a double click
		both.Go(func() { receipts[n] = b.requireThanks(b.post("/NURSE-1", filled(), b.resume())) })
	}
	both.Wait()
	require.Equal(t, receipts[0], receipts[1])
	require.Equal(t, receipts[0], b.requireThanks(b.post("/NURSE-1", filled(), b.resume())), "back, and the same again")
	require.Len(t, b.applications("acme"), 1)

	changed := but(filled(), "a.1000124", "7")
	second := b.requireThanks(b.post("/NURSE-1", changed, b.resume()))
	require.NotEqual(t, receipts[0], second, "back, and a change")
	require.Equal(t, second, b.requireThanks(b.post("/NURSE-1", changed, b.resume())))
	further, err := b.Runtime.Store().JobApplication(t.Context(), "acme", second)
	require.NoError(t, err)
	require.Equal(t, receipts[0], further.VersionOf)
}

func TestWhatIsSuspiciousIsStoredForAPerson(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	b.Write(t, func(tx *store.Tx) error {
		return tx.UpsertStep(&model.Step{Row: model.Row{Tenant: "acme"}, ID: "new", Name: "New"}, b.Clock.Now())
	})
	b.requireThanks(b.post("/NURSE-1", but(filled(), "company", "Cheap pills"), b.resume()))
	all := b.applications("acme")
	require.Len(t, all, 1)
	require.Contains(t, all[0].Status.Unentered, "people don't see")
}

func TestAFormComesFromPagesThatMay(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	for _, tt := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"our page", []string{"Origin", "http://example.com", "Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{"our page in a sandbox", []string{"Origin", "null", "Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		{"an old browser", []string{"Origin", "http://example.com"}, http.StatusOK},
		{"no browser", nil, http.StatusOK},
		{"the career site", []string{"Origin", careers, "Sec-Fetch-Site", "cross-site"}, http.StatusOK},
		{"another site", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"a site that hides", []string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"a site that looks alike", []string{"Origin", careers + ".evil.example", "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
	} {
		w := b.post("/NURSE-1", filled(), b.resume(), append(tt.headers, "From", "of "+tt.name)...)
		require.Equal(t, tt.status, w.Code, tt.name)
	}
}

func TestAFormLeadsBack(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	page := b.get("/NURSE-1?return_to=" + careers + "/thanks?x=1").Body.String()
	require.Contains(t, page, `name="return_to" value="`+careers+`/thanks?x=1"`)
	for _, elsewhere := range []string{"https://evil.example/", "//evil.example", careers + "@evil.example/", "javascript:alert(1)",
		careers + ".evil.example", `https:\\www.acme.example`, "/\\evil.example"} {
		require.NotContains(t, b.get("/NURSE-1?return_to="+elsewhere).Body.String(), "return_to", elsewhere)
		w := b.post("/NURSE-1", but(filled(), "return_to", elsewhere), b.resume(), "From", elsewhere)
		require.Equal(t, http.StatusOK, w.Code, elsewhere)
	}
	w := b.post("/NURSE-1", but(filled(), "return_to", careers+"/thanks"), b.resume())
	require.Equal(t, http.StatusSeeOther, w.Code)
	require.Equal(t, careers+"/thanks", w.Header().Get("Location"))
	w = b.post("/NURSE-1", but(filled(), "return_to", careers+"/thanks"), b.resume(), "Sec-Fetch-Dest", "iframe")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `href="`+careers+`/thanks" target="_top"`)
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	for range 20 {
		require.NotEqual(t, http.StatusTooManyRequests, b.post("/NURSE-1", map[string]string{}, nil).Code)
	}
	w := b.post("/NURSE-1", filled(), b.resume())
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	require.Equal(t, http.StatusOK, b.post("/NURSE-1", filled(), b.resume(), "From", "192.0.2.8").Code, "another address")
	b.Clock.Advance(10 * time.Second)
	require.NotEqual(t, http.StatusTooManyRequests, b.post("/NURSE-1", map[string]string{}, nil).Code)

	post := func(address string) int { return b.post("/NURSE-1", map[string]string{}, nil, "From", address).Code }
	for n := range 20 {
		require.NotEqual(t, http.StatusTooManyRequests, post(fmt.Sprintf("2001:db8:1:1::%x", n)))
	}
	require.Equal(t, http.StatusTooManyRequests, post("2001:db8:1:1:ffff::1"), "of IPv6 one sender has all of a /64")
	require.NotEqual(t, http.StatusTooManyRequests, post("2001:db8:1:2::1"))

	long := but(filled(), "a.1000125", strings.Repeat("x", 300<<10))
	b.requireWrong(b.post("/NURSE-1", long, b.resume(), "From", "192.0.2.9"), "Why this job?: Shorten this")
	require.Equal(t, http.StatusUnsupportedMediaType, b.request(http.MethodPost, "/NURSE-1", bytes.NewBufferString("a=b"), contentType,
		"application/x-www-form-urlencoded", "From", "192.0.2.10").Code)

	const head = "--b\r\nContent-Disposition: form-data; name=\"once\"; x=\""
	body := bytes.NewBufferString(head + strings.Repeat("x", 1<<20))
	require.Equal(t, http.StatusBadRequest, b.request(http.MethodPost, "/NURSE-1", body, contentType,
		"multipart/form-data; boundary=b", "From", "192.0.2.11").Code)
	require.Greater(t, body.Len(), 900<<10, "the head of a field is read into memory, however long it is")
}

func TestFormsSpeakGerman(t *testing.T) {
	t.Parallel()
	b := setupForm(t)
	w := b.get("/NURSE-1", "Accept-Language", "de-AT,de;q=0.9")
	require.Equal(t, "de", w.Header().Get("Content-Language"))
	require.Contains(t, w.Body.String(), "Bewerbung absenden")
	page := b.post("/NURSE-1?lang=de", but(filled(), "a.email", without), b.resume()).Body.String()
	require.Contains(t, page, "E-mail: Bitte antworten Sie hier")
}
