package rest

import (
	"fmt"
	"net/http"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/etag"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
)

// Tag returns the entity tag (RFC 9110 section 8.8.3) of a resource. It has the time when the resource was made, as a
// deleted one that is made again starts at version 1, its version, and a hash of what is shown beside it and changes
// without it. It is empty if the resource is not stored.
func Tag(row *model.Row, beside ...string) string {
	if row.Version == 0 {
		return ""
	}
	t := fmt.Sprintf("%x-%d", row.CreatedAt.UnixMicro(), row.Version)
	if len(beside) > 0 {
		t += fmt.Sprintf("-%.8x", digest.Of(beside...))
	}
	return `"` + t + `"`
}

// Expect checks If-Match and If-None-Match (RFC 9110 section 13.1) of a request that changes the resource with this
// tag; empty: there is none. Ask it within the transaction that does so.
func (r *Request) Expect(tag string) error {
	if match := r.Header.Values("If-Match"); len(match) > 0 {
		switch {
		case tag == "":
			return problem.New(http.StatusPreconditionFailed,
				"there is nothing at this address that If-Match could match: leave If-Match out to make it")
		case !etag.Listed(match, tag):
			return problem.New(http.StatusPreconditionFailed, "it was changed since you read it: read it again, and send "+
				"the ETag of that answer as If-Match")
		}
	}
	if none := r.Header.Values("If-None-Match"); len(none) > 0 && tag != "" && etag.ListedWeakly(none, tag) {
		return problem.New(http.StatusPreconditionFailed, "it is there already: leave If-None-Match out to change it")
	}
	return nil
}

// conditional reports whether the request names what it expects to be there.
func (r *Request) conditional() bool {
	return len(r.Header.Values("If-Match")) > 0 || len(r.Header.Values("If-None-Match")) > 0
}
