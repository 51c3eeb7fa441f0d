package export

import (
	"context"
	"net/http"

	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/model"
)

// Trial is one attempt at an integration with an export that is stored nowhere.
type Trial struct {
	Header  http.Header // of the request, without those of the integration's authentication
	Attempt *model.Attempt
}

// Try sends an export, whose body is as it goes out, to an integration: signed, with the headers and through the guard
// of every attempt, as byFormer says. It passes no gate, is not counted, and changes nothing, whatever the answer is.
func Try(ctx context.Context, c *config.Config, e *model.Export, i *model.Integration, byFormer bool) Trial {
	client := c.Client(i)
	seen := &recorder{next: client.Transport}
	answer, err := c.Names.Send(ctx, &http.Client{Transport: seen}, outgoing(ctx, e, i, e.Body, byFormer))
	return Trial{Header: seen.header, Attempt: judge(answer, err)}
}

// recorder keeps the header of the request that it passes on.
type recorder struct {
	next   http.RoundTripper
	header http.Header
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.header = req.Header.Clone()
	return r.next.RoundTrip(req)
}
