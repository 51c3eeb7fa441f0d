package apply

import (
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/problem"
)

// refusal is an error answer (contract, "Error body"). message and items are for people; nothing of the request's body is in them.
type refusal struct {
	status     int
	message    string
	items      []Item
	retryAfter time.Duration
	close      bool
}

// Item says what is wrong with an answer (contract, "Validation item").
type Item struct {
	QuestionID string   `json:"questionId"`
	Messages   []string `json:"messages"`
}

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

// after adds the header Retry-After, of a second at least.
func (f *refusal) after(d time.Duration) *refusal {
	f.retryAfter = max(d, time.Second)
	return f
}

// closing ends the connection soon after the answer: nobody waits for what is left of the body.
func (f *refusal) closing() *refusal {
	f.close = true
	return f
}

func storeAway() *refusal {
	return refuse(http.StatusServiceUnavailable, "the service can't use its database now: send the same again in a moment").after(5 * time.Second).closing()
}

func (f *refusal) write(w http.ResponseWriter, r *http.Request) {
	var body any = struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{f.status, f.message}
	if strings.HasSuffix(r.URL.Path, "/v2/application") {
		body = struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Errors  []Item `json:"errors"`
		}{f.status, f.message, f.items}
	}
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", problem.Seconds(f.retryAfter))
	}
	if f.close && r.ContentLength != 0 {
		problem.Close(w)
	}
	raw, err := encode(body)
	if err != nil { // of strings and numbers
		raw = []byte("{}\n")
	}
	send(w, f.status, raw)
}
