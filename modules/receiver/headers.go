package receiver

import (
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/webhook"
)

// headers are what an export brings beside its body. They are not covered by the signature, so they are bounded and opaque.
type headers struct {
	uuid                string // empty: absent
	link, exportContext []byte // nil: absent, or empty, which says no more
}

func readHeaders(r *http.Request, names webhook.Names) (h headers, p *problem.Problem) {
	for _, name := range []string{names.Event, names.UUID, webhook.LinkHeader, names.ExportContext} {
		values := r.Header.Values(name)
		if len(values) > 1 {
			return h, problem.New(http.StatusBadRequest, fmt.Sprintf("the header %s is there more than once", name))
		}
		if len(values) == 1 && len(values[0]) > webhook.HeaderBound {
			return h, problem.New(http.StatusBadRequest, fmt.Sprintf("the header %s is longer than %d bytes", name, webhook.HeaderBound))
		}
	}
	if values := r.Header.Values(names.UUID); len(values) == 1 {
		h.uuid = values[0]
		if !webhook.ValidUUID(h.uuid) {
			return h, problem.New(http.StatusBadRequest, fmt.Sprintf("the header %s must be 1 to 255 visible ASCII characters", names.UUID))
		}
	}
	h.link, h.exportContext = value(r, webhook.LinkHeader), value(r, names.ExportContext)
	return h, nil
}

func value(r *http.Request, name string) []byte {
	if v := header(r, name); v != "" {
		return []byte(v)
	}
	return nil
}

// header gives a header that must be there once; empty when it is not.
func header(r *http.Request, name string) string {
	if values := r.Header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

func hexOf(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
