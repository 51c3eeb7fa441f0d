package check

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/webhook"
)

// faults has for each check a receiver that has just this fault.
var faults = []struct {
	check string
	fault func(*endpoint)
	also  []string // other musts that fail, and why below
	why   string
}{
	{check: "B-01", fault: func(e *endpoint) { e.verified = func() int { return 204 } }, also: []string{"B-02"},
		why: "a VERIFY that is never answered 200 is not answered 200 again"},
	{check: "B-02", fault: func(e *endpoint) {
		n := 0
		e.verified = func() int {
			if n++; n > 1 {
				return 409
			}
			return 200
		}
	}},
	{check: "B-03", fault: func(e *endpoint) {
		e.early = func(r *http.Request, _ []byte) int {
			if r.Header.Get("X-Service-Event") == webhook.EventVerify {
				return 200
			}
			return 0
		}
	}, also: []string{"B-32"}, why: "whoever does not check VERIFY takes it under an empty secret, too"},
	{check: "B-04", fault: func(e *endpoint) { e.early = ifSignature(func(header string) bool { return header == "" }) }},
	{check: "B-05", fault: func(e *endpoint) { e.early = ifSignature(hex64.MatchString) }, also: []string{"B-06", "B-32", "B-33", "B-35", "B-36"},
		why: "who takes any hex takes each forgery that is hex"},
	{check: "B-06", fault: func(e *endpoint) {
		seen := map[string]bool{}
		var mu sync.Mutex
		e.early = func(r *http.Request, body []byte) int {
			mu.Lock()
			defer mu.Unlock()
			header := r.Header.Get("X-Service-Signature")
			if seen[header] && r.Header.Get("X-Service-Event") == webhook.EventExport {
				return 202
			}
			seen[header] = seen[header] || webhook.Verify(header, body, e.secrets...)
			return 0
		}
	}},
	{check: "B-07", fault: func(e *endpoint) {
		e.early = func(r *http.Request, _ []byte) int {
			if header := r.Header.Get("X-Service-Signature"); header != "" && !hex64.MatchString(header) {
				return 500
			}
			return 0
		}
	}, also: []string{"B-34"}, why: "a part of a signature has another length"},
	{check: "B-07", fault: func(e *endpoint) { // a decoder that stops where the digits end
		e.early = func(r *http.Request, body []byte) int {
			header := r.Header.Get("X-Service-Signature")
			if r.Header.Get("X-Service-Event") == webhook.EventExport && len(header) > 64 &&
				webhook.Verify(header[:64], body, e.secrets...) {
				return 202
			}
			return 0
		}
	}, also: []string{"B-34"}, why: "it takes what is behind the digits if that is hex, too"},
	{check: "B-08", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			var b struct {
				Candidate struct{ Person map[string]json.RawMessage }
			}
			if json.Unmarshal(body, &b) == nil && b.Candidate.Person["name"] == nil {
				return 422
			}
			return 0
		}
	}, also: []string{"B-11", "B-12", "B-13", "B-14", "B-16", "B-19", "B-20", "B-25", "B-26", "B-37", "B-38", "B-39", "B-40"},
		why: "these have no name either"},
	{check: "B-09", fault: func(e *endpoint) { e.late = having(`"Service Start Date"`, 422) }, also: []string{"B-39", "B-40"},
		why: "their job applications have every field as well"},
	{check: "B-10", fault: func(e *endpoint) { e.late = having(`:null`, 422) }},
	{check: "B-11", fault: func(e *endpoint) { e.late = having(`"checkExtra"`, 422) }},
	{check: "B-12", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			gender := regexp.MustCompile(`"gender":"([^"]*)"`).FindSubmatch(body)
			if gender != nil && string(gender[1]) != "Female" && string(gender[1]) != "Male" {
				return 422
			}
			return 0
		}
	}},
	{check: "B-13", fault: func(e *endpoint) {
		e.signed = func(body []byte) []byte {
			var out bytes.Buffer
			if json.Compact(&out, body) != nil {
				return body
			}
			return out.Bytes()
		}
	}},
	{check: "B-14", fault: func(e *endpoint) { e.signed = writtenAgain }, also: []string{"B-13", "B-15"},
		why: "who sorts keys writes the JSON again, without white space and escapes"},
	{check: "B-15", fault: func(e *endpoint) {
		e.signed = func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(`\u00e9`), []byte("é")) }
	}},
	{check: "B-16", fault: func(e *endpoint) {
		e.signed = func(body []byte) []byte {
			return regexp.MustCompile(`[0-9.]+E?[0-9]*[,\]]`).ReplaceAllFunc(body, func(number []byte) []byte {
				var n float64
				end := len(number) - 1
				if json.Unmarshal(number[:end], &n) != nil {
					return number
				}
				written, _ := json.Marshal(n) // a float64 always can be
				return append(written, number[end])
			})
		}
	}},
	{check: "B-17", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			if strings.ContainsFunc(string(body), func(r rune) bool { return r > 0xffff }) {
				return 500
			}
			return 0
		}
	}},
	{check: "B-18", fault: func(e *endpoint) {
		e.early = func(_ *http.Request, body []byte) int {
			if len(body) > 1<<15 {
				return 413
			}
			return 0
		}
	}},
	{check: "B-19", fault: func(e *endpoint) { e.again = func(bool, int) int { return 409 } }, also: []string{"B-20"},
		why: "ten at once are nine repetitions"},
	{check: "B-20", fault: func(e *endpoint) {
		e.again = func(same bool, times int) int {
			if times > 2 {
				return 500
			}
			return map[bool]int{true: 200, false: 409}[same]
		}
	}},
	{check: "B-21", fault: func(e *endpoint) {
		e.again = func(same bool, _ int) int { return map[bool]int{true: 200, false: 500}[same] }
	}},
	{check: "B-22", fault: func(e *endpoint) { e.broken = 500 }},
	{check: "B-23", fault: func(e *endpoint) { e.unknown = 500 }},
	{check: "B-24", fault: func(e *endpoint) { e.get = 200 }},
	{check: "B-25", fault: func(e *endpoint) {
		c := new(crowd)
		e.late = func(*http.Request, []byte) int {
			if !c.enter(10) {
				return 503
			}
			return 0
		}
	}},
	{check: "B-26", fault: func(e *endpoint) { e.secrets = e.secrets[:1] }},
	{check: "B-27", fault: func(e *endpoint) {
		e.late = func(*http.Request, []byte) int {
			<-time.After(slow)
			return 0
		}
	}},
	{check: "B-28", fault: func(e *endpoint) { e.cased = true }},
	{check: "B-29", fault: func(e *endpoint) { e.asks = func(int, int) bool { return false } }},
	{check: "B-30", fault: func(e *endpoint) { e.asks = func(status, _ int) bool { return status == 0 } }},
	{check: "B-31", fault: func(e *endpoint) {
		e.asks = func(status, times int) bool { return status != 200 && times < 3 }
	}},
	{check: "B-32", fault: func(e *endpoint) { // a secret of the rotation that is not set
		e.early = func(r *http.Request, body []byte) int {
			if r.Header.Get("X-Service-Signature") == webhook.Sign("", body) {
				return 200
			}
			return 0
		}
	}},
	{check: "B-33", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool { return len(header) == 64 && header[:8] == right[:8] })
	}},
	{check: "B-33", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool { return len(header) == 64 && header[32:] == right[32:] })
	}},
	{check: "B-33", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool {
			return len(header) == 64 && header[:8] == right[:8] && header[56:] == right[56:]
		})
	}},
	{check: "B-34", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool { return header != "" && strings.Contains(right, header) })
	}},
	{check: "B-34", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool { return len(header) > 60 && strings.HasSuffix(right, header) })
	}},
	{check: "B-34", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool { return strings.Contains(header, right) })
	}, also: []string{"B-07"}, why: "what has zz behind it contains the signature"},
	{check: "B-34", fault: func(e *endpoint) {
		e.early = e.ifMatched(func(header, right string) bool { return strings.HasSuffix(header, right) })
	}},
	{check: "B-35", fault: func(e *endpoint) {
		e.early = func(_ *http.Request, body []byte) int {
			if len(body) > 6000 {
				return 202
			}
			return 0
		}
	}},
	{check: "B-35", fault: func(e *endpoint) {
		e.early = func(_ *http.Request, body []byte) int {
			if len(body) > 50000 {
				return 202
			}
			return 0
		}
	}},
	{check: "B-36", fault: func(e *endpoint) {
		e.early = ifHeader("X-Service-UUID", func(value string) bool { return value == "" }, 202)
	}},
	{check: "B-36", fault: func(e *endpoint) { e.early = ifHeader("Link", func(value string) bool { return value == "" }, 202) }},
	{check: "B-36", fault: func(e *endpoint) {
		e.early = ifHeader("X-Service-Export-Context", func(value string) bool { return value != "" }, 202)
	}},
	{check: "B-37", fault: func(e *endpoint) {
		e.late = ifHeader("Link", func(value string) bool { return len(value) > 200 }, 500)
	}},
	{check: "B-38", fault: func(e *endpoint) {
		e.late = ifHeader("X-Service-Export-Context", func(value string) bool { return value != "" }, 422)
	}},
	{check: "B-39", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			if len(body) < 1<<15 && bytes.Count(body, []byte(`"profileId"`)) > 1 {
				return 422
			}
			return 0
		}
	}},
	{check: "B-40", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			if bytes.Count(body, []byte(`"url"`)) > 32 {
				return 422
			}
			return 0
		}
	}},
	{check: "B-41", fault: func(e *endpoint) { e.early = having("<script", 403) }},
	{check: "B-42", fault: func(e *endpoint) {
		e.late = func(_ *http.Request, body []byte) int {
			if len(body) > 1<<15 && bytes.Contains(body, []byte(`"profileId"`)) {
				return 500
			}
			return 0
		}
	}},
}

var hex64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// slow is how long the receiver of B-27 takes, and more than what its test allows.
const slow = 20 * time.Millisecond

// writtenAgain parses JSON and writes it, as receivers do that sign what their framework gives them.
func writtenAgain(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if d.Decode(&v) != nil || e.Encode(v) != nil {
		return body
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
