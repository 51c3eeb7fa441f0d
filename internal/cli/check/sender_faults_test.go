package check

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// changed changes an export.
func changed(change func(c, person, profile object)) func(*recruiter) {
	return func(r *recruiter) { r.candidate = change }
}

// headed sets a header of exports.
func headed(name, value string) func(*recruiter) {
	return func(r *recruiter) {
		r.header = func(kind string, h http.Header) {
			if kind == webhook.EventExport {
				h[name] = []string{value}
			}
		}
	}
}

// served answers requests for documents.
func served(answer func(w http.ResponseWriter, q *http.Request, asked int)) func(*recruiter) {
	return func(r *recruiter) { r.document = answer }
}

// signed signs otherwise.
func signed(sign func(secret string, body []byte) string) func(*recruiter) {
	return func(r *recruiter) { r.sign = func(body []byte) string { return sign(r.p.secret, body) } }
}

func opening(profile object) object { return profile["associatedPositionOpenings"].([]any)[0].(object) }

// Each check has services with the fault that it is to find, and no other check fails there but those in also.
var senderFaults = []struct {
	check, name string
	fault       func(*recruiter)
	also        string
	says        string // in what came
}{
	{check: "E-01", name: "no VERIFY", fault: func(r *recruiter) { r.verifies = false }},
	{check: "E-02", name: "202 is enough", fault: func(r *recruiter) { r.verified = func(status int) bool { return status/100 == 2 } }},
	{check: "E-02", name: "no answer is needed", fault: func(r *recruiter) { r.verified = func(int) bool { return true } }},
	{check: "E-03", name: "PUT", fault: func(r *recruiter) { r.method = http.MethodPut }, says: "the method PUT"},
	{check: "E-03", name: "query dropped", fault: func(r *recruiter) { r.address = senderPath }, says: "another query"},
	{check: "E-03", name: "slash added", fault: func(r *recruiter) { r.address = senderPath + "/?" + senderQuery }, says: "another path"},
	{check: "E-03", name: "event added", fault: func(r *recruiter) { r.address += "&event=1" }},
	{check: "E-04", name: "no event", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { delete(h, r.p.names.Event) }
	}, says: "no header X-Service-Event"},
	{check: "E-04", name: "small letters", fault: func(r *recruiter) { r.event = strings.ToLower }, says: "verify"},
	{check: "E-04", name: "another event", fault: func(r *recruiter) {
		r.event = func(kind string) string { return strings.ReplaceAll(kind, "-", "_") }
	}, says: "CANDIDATE_EXPORT"},
	{check: "E-05", name: "no signature", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { delete(h, r.p.names.Signature) }
	}, says: "no header X-Service-Signature"},
	{check: "E-05", name: "sha256=", fault: signed(func(secret string, b []byte) string { return "sha256=" + webhook.Sign(secret, b) }),
		says: "the header begins with sha256="},
	{check: "E-05", name: "base64", fault: signed(func(secret string, b []byte) string {
		h := hmac.New(sha256.New, []byte(secret))
		h.Write(b)
		return base64.StdEncoding.EncodeToString(h.Sum(nil))
	}), says: "base64"},
	{check: "E-05", name: "half of it", fault: signed(func(secret string, b []byte) string { return webhook.Sign(secret, b)[:32] }), says: "32 characters"},
	{check: "E-06", name: "another secret", fault: signed(func(secret string, b []byte) string { return webhook.Sign(secret+"x", b) }),
		says: "or with another secret"},
	{check: "E-06", name: "a newline in the secret", fault: signed(func(secret string, b []byte) string { return webhook.Sign(secret+"\n", b) }),
		says: "the secret ends in a newline"},
	{check: "E-06", name: "before it was written", fault: func(r *recruiter) {
		r.sign = func(b []byte) string { return webhook.Sign(r.p.secret, bytes.TrimSpace(b)) }
		r.written = func(b []byte) []byte { return append(b, '\n') }
	}},
	{check: "E-06", name: "one signature for all", fault: func(r *recruiter) {
		r.sign = func([]byte) string { return webhook.Sign(r.p.secret, r.verification) }
	}, says: "another event's"},
	{check: "E-06", name: "a hash without a key", fault: signed(func(_ string, b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) })},
	{check: "E-06", name: "exports alone", fault: func(r *recruiter) {
		r.sign = func(b []byte) string {
			if bytes.Contains(b, []byte("Verify Event")) {
				return webhook.Sign("", b)
			}
			return webhook.Sign(r.p.secret, b)
		}
	}},
	{check: "E-07", name: "two signatures", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) {
			h[r.p.names.Signature] = append(h[r.p.names.Signature], strings.Repeat("0", 64))
		}
	}, says: "X-Service-Signature 2 times"},
	{check: "E-08", name: "the name alone", fault: func(r *recruiter) { r.verification = []byte(`{"data":"Verify Event"}`) }, says: "/data: const: Service Verify Event"},
	{check: "E-08", name: "no data", fault: func(r *recruiter) { r.verification = []byte(`{}`) }, says: "/data: required"},
	{check: "E-09", name: "a UUID", fault: func(r *recruiter) {
		r.header = func(kind string, h http.Header) {
			if kind == webhook.EventVerify {
				h[r.p.names.UUID] = []string{uuid.NewString()}
			}
		}
	}, says: "X-Service-UUID"},
	{check: "E-10", name: "none", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { delete(h, "Content-Type") }
	}},
	{check: "E-10", name: "a form", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { h.Set("Content-Type", "application/x-www-form-urlencoded") }
	}},
	{check: "E-11", name: "a library's", fault: headed("User-Agent", "python-requests/2.32"), says: "python-requests"},
	{check: "E-11", name: "with a version", fault: headed("User-Agent", "Service/1.0")},
	{check: "E-12", name: "none", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { delete(h, r.p.names.UUID) }
	}, says: "no header X-Service-UUID"},
	{check: "E-12", name: "too long", fault: headed("X-Service-UUID", strings.Repeat("7", 256)), also: "E-13", says: "256 characters"},
	{check: "E-13", name: "one for all", fault: func(r *recruiter) { r.uuid = func(int, int) string { return "7" } }},
	{check: "E-14", name: "none", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { delete(h, "Link") }
	}},
	{check: "E-15", name: "RFC 8288", fault: headed("Link", `<https://service.example.com/candidates/7>; rel="self"`)},
	{check: "E-15", name: "a path", fault: headed("Link", "/candidates/7")},
	{check: "E-15", name: "empty", fault: headed("Link", "")},
	{check: "E-16", name: "empty", fault: headed("X-Service-Export-Context", ""), says: "without a value"},
	{check: "E-16", name: "no job", fault: changed(func(c, _, _ object) { c["profiles"] = []any{} }), says: "without a job application"},
	{check: "E-17", name: "a long Link", fault: headed("Link", "https://service.example.com/"+strings.Repeat("c", 1024))},
	{check: "E-17", name: "a long context", fault: headed("X-Service-Export-Context", strings.Repeat("c", 1025)), says: "1025 bytes"},
	{check: "E-18", name: "a byte order mark", fault: func(r *recruiter) { r.written = func(b []byte) []byte { return append([]byte("\ufeff"), b...) } },
		says: "byte order mark"},
	{check: "E-18", name: "a name twice", fault: func(r *recruiter) {
		r.written = func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"gender":`), []byte(`"gender":"x","gender":`), 1)
		}
	}},
	{check: "E-18", name: "Latin-1", fault: func(r *recruiter) {
		r.written = func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("ë"), []byte("\xeb")) }
	}},
	{check: "E-18", name: "a form", fault: func(r *recruiter) {
		r.written = func(b []byte) []byte { return []byte(url.Values{"payload": {string(b)}}.Encode()) }
	}},
	{check: "E-18", name: "compressed", fault: func(r *recruiter) {
		r.header = func(_ string, h http.Header) { h["Content-Encoding"] = []string{"gzip"} }
	}, says: "Content-Encoding: gzip"},
	{check: "E-19", name: "no id", fault: changed(func(_, person, _ object) { delete(person, "id") }), says: "/candidate/person/id: required"},
	{check: "E-19", name: "no agency", fault: changed(func(_, person, _ object) { delete(person["id"].(object), "schemeAgencyId") })},
	{check: "E-19", name: "no candidate", fault: func(r *recruiter) {
		r.written = func(b []byte) []byte { return bytes.Replace(b, []byte(`"candidate"`), []byte(`"applicant"`), 1) }
	}},
	{check: "E-20", name: "a number for an id", fault: changed(func(_, person, _ object) { person["id"].(object)["value"] = 7 }), says: "found: number"},
	{check: "E-20", name: "an object for a list", fault: changed(func(_, person, _ object) { person["customFields"] = object{} })},
	{check: "E-20", name: "a date that is none", fault: changed(func(_, person, _ object) { person["applyDate"] = "02.10.2026" }), says: "date: YYYY-MM-DD"},
	{check: "E-20", name: "a day that is none", fault: changed(func(_, person, _ object) { person["applyDate"] = "2026-02-30" })},
	{check: "E-20", name: "the start date's name", fault: changed(func(_, _, profile object) {
		opening(profile)["customFields"].([]any)[0].(object)["name"] = "Start date"
	})},
	{check: "E-21", name: "ISO 8601", fault: changed(func(_, _, profile object) {
		opening(profile)["candidateStatus"].(object)["transitionDateTime"] = "2026-11-12T16:04:59Z"
	}), says: "transitionDateTime"},
	{check: "E-21", name: "a date with a time", fault: changed(func(_, person, _ object) { person["applyDate"] = "2026-10-02T00:00:00Z" })},
	{check: "E-22", name: "the value of a custom field", fault: changed(func(_, person, _ object) {
		person["customFields"].([]any)[0].(object)["value"] = nil
	}), says: "/candidate/person/customFields/0/value"},
	{check: "E-23", name: "a list", fault: changed(func(_, person, _ object) { person["communication"].(object)["web"] = []any{} })},
	{check: "E-24", name: "a comma", fault: changed(func(_, person, _ object) { person["id"].(object)["schemeId"] = "Service Candidate," })},
	{check: "E-24", name: "a scheme of its own", fault: changed(func(_, person, _ object) { person["id"].(object)["schemeId"] = "uuid" })},
	{check: "E-24", name: "another agency", fault: changed(func(_, person, _ object) { person["id"].(object)["schemeAgencyId"] = "ACME" })},
	{check: "E-25", name: "citizenship", fault: changed(func(_, person, _ object) {
		person["citizenship"] = person["citizenShip"]
		delete(person, "citizenShip")
	}), says: "/candidate/person/citizenship: spelled citizenShip"},
	{check: "E-25", name: "underscores", fault: changed(func(_, person, _ object) { person["apply_date"] = "2026-10-02" })},
	{check: "E-26", name: "6 MiB", fault: changed(func(_, person, _ object) {
		person["communication"].(object)["web"] = strings.Repeat("x", 6<<20)
	}), says: "6.0 MiB"},
	{check: "E-26", name: "17 MiB", fault: changed(func(_, person, _ object) {
		person["communication"].(object)["web"] = strings.Repeat("x", 17<<20)
	}), says: "17 MiB"},
	{check: "E-27", name: "nothing comes again", fault: func(r *recruiter) { r.repeats, r.people = false, 4 }},
	{check: "E-27", name: "under a new UUID", fault: func(r *recruiter) { r.uuid = func(int, int) string { return uuid.NewString() } },
		says: "the same bytes under another UUID"},
	{check: "E-28", name: "at once", fault: func(r *recruiter) { r.p.away, r.pause = time.Hour, func() {} }},
	{check: "E-29", name: "written anew", fault: func(r *recruiter) {
		r.rewritten = func(b []byte, try int) []byte { return append(bytes.Clone(b), strings.Repeat(" ", try)...) }
	}, says: "another body than in event 3"},
	{check: "E-30", name: "followed with GET", fault: func(r *recruiter) { r.client.CheckRedirect = nil }},
	{check: "E-31", name: "each comes twice", fault: func(r *recruiter) { r.taken = func(send func()) { send() } }, says: "it again, event 6"},
	{check: "E-32", name: "impatience", fault: func(r *recruiter) {
		r.p.slow = time.Hour
		ctx, hangUp := context.WithCancel(r.t.Context())
		r.ctx = func(n int) context.Context {
			if n == 1 {
				return r.t.Context()
			}
			go func() {
				for r.p.takes() != takesAll { // it has come, and waits for its answer
					<-time.After(time.Millisecond)
				}
				hangUp()
			}()
			return ctx
		}
	}},
	{check: "E-33", name: "credentials wanted", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusUnauthorized) }),
		says: "401"},
	{check: "E-33", name: "nothing there", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(http.StatusNotFound) })},
	{check: "E-33", name: "a path", fault: func(r *recruiter) { r.documentURL = func(string) string { return "/documents/7" } }, says: "a URL that does not begin"},
	{check: "E-33", name: "no host", fault: func(r *recruiter) { r.documentURL = func(string) string { return "https:///documents/7" } }},
	{check: "E-33", name: "nobody there", fault: func(r *recruiter) { r.documentURL = func(string) string { return "http://127.0.0.1:1/" } }, says: "no answer: "},
	{check: "E-34", name: "to a store", fault: served(func(w http.ResponseWriter, q *http.Request, _ int) {
		if !strings.HasSuffix(q.URL.Path, "/store") {
			http.Redirect(w, q, q.URL.Path+"/store", http.StatusFound)
			return
		}
		answerDocument(w, []byte("%PDF-1.4"))
	})},
	{check: "E-35", name: "empty", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) { answerDocument(w, nil) }), says: "no bytes"},
	{check: "E-35", name: "no base64", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"content":"%PDF-1.4","mimeType":"application/pdf","fileName":"a.pdf"}`))
	})},
	{check: "E-35", name: "no content", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"mimeType":"application/pdf","fileName":"a.pdf"}`))
	})},
	{check: "E-35", name: "broken off", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("%PDF-1.4"))
	})},
	{check: "E-36", name: "the file itself", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write([]byte("%PDF-1.4"))
	}), says: "not application/json"},
	{check: "E-36", name: "no name", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object{"content": "YQ==", "mimeType": "text/plain"})
	}), says: "no fileName"},
	{check: "E-37", name: "once alone", fault: func(r *recruiter) {
		sound, known := r.document, map[string]bool{}
		r.document = func(w http.ResponseWriter, q *http.Request, asked int) {
			if known[q.URL.Path] {
				w.WriteHeader(http.StatusGone)
				return
			}
			known[q.URL.Path] = true
			sound(w, q, asked)
		}
	}, says: "410 Gone the second time"},
	{check: "E-38", name: "an hour, at S3", fault: func(r *recruiter) {
		r.documentURL = func(address string) string {
			return address + "?" + url.Values{"X-Amz-Date": {time.Now().UTC().Format("20060102T150405Z")}, "X-Amz-Expires": {"3600"}}.Encode()
		}
	}, says: "an end after "},
	{check: "E-38", name: "an hour, at Azure", fault: func(r *recruiter) {
		r.documentURL = func(address string) string {
			return address + "?" + url.Values{"se": {time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}, "sig": {"x"}}.Encode()
		}
	}},
	{check: "E-38", name: "an hour, at CloudFront", fault: func(r *recruiter) {
		r.documentURL = func(address string) string {
			return address + "?" + url.Values{"Expires": {fmt.Sprint(time.Now().Add(time.Hour).Unix())}, "Signature": {"x"}}.Encode()
		}
	}},
	{check: "E-39", also: "E-36", name: "26 MiB", fault: served(func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Content-Type", "application/pdf") // no JSON: with the race detector, reading that takes a minute
		_, _ = w.Write(make([]byte, documents.MaxSize+1))
	})},
}

// takes returns the step.
func (p *playedReceiver) takes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.step
}

func TestFaultyServicesAreConvicted(t *testing.T) {
	t.Parallel()
	proved := map[string]bool{}
	for _, c := range senderFaults {
		proved[c.check] = true
		t.Run(c.check+" "+c.name, func(t *testing.T) {
			t.Parallel()
			r := newRecruiter(t, "Service")
			c.fault(r)
			for id, one := range r.results() {
				switch {
				case id == c.check:
					require.Equal(t, failed, one.Verdict, "%+v", one)
					require.NotEmpty(t, one.Sent)
					require.NotEmpty(t, one.Got)
					require.Contains(t, one.Got, c.says)
				case strings.Contains(c.also, id):
					require.Equal(t, failed, one.Verdict, "%+v", one)
				default:
					require.NotEqual(t, failed, one.Verdict, "%+v", one)
				}
			}
		})
	}
	for _, c := range senderChecks {
		require.True(t, proved[c.id], "%s has no service with its fault", c.id)
	}
}

// Each listed deviation is what one check is about.
func TestEachDeviationHasACheck(t *testing.T) {
	t.Parallel()
	for name := range schemas.Deviations() {
		p := &playedReceiver{seen: []*event{{number: 1, kind: webhook.EventExport, deviations: []schemas.Finding{{Deviation: name}}}}}
		var convicted []string
		for _, c := range senderChecks {
			if c.id >= "E-19" && c.id <= "E-25" && c.run(t.Context(), p).Do != "" {
				convicted = append(convicted, c.id)
			}
		}
		require.Len(t, convicted, 1, name)
	}
}
