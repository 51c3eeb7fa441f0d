package receiver

import (
	"encoding/hex"
	"fmt"
	"net/http"

	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/webhook"
)

// headers holds the headers of an export. The signature does not cover them, so they are bounded and opaque.
type headers struct {
	uuid                string // empty: absent
	link, exportContext []byte // nil: absent or empty
}

func readHeaders(r *http.Request, names webhook.Names) (h headers, p *problem.Problem) {
	var values [4][]string
	for n, name := range [4]string{names.Event, names.UUID, webhook.LinkHeader, names.ExportContext} {
		values[n] = r.Header.Values(name)
		if len(values[n]) > 1 {
			return h, problem.New(http.StatusBadRequest, fmt.Sprintf("the header %s is there more than once", name))
		}
		if len(values[n]) == 1 && len(values[n][0]) > webhook.HeaderBound {
			return h, problem.New(http.StatusBadRequest,
				fmt.Sprintf("the header %s is longer than %d bytes", name, webhook.HeaderBound))
		}
	}
	if uuid := values[1]; len(uuid) == 1 {
		h.uuid = uuid[0]
		if !webhook.ValidUUID(h.uuid) {
			return h, problem.New(http.StatusBadRequest,
				fmt.Sprintf("the header %s must be 1 to 255 visible ASCII characters", names.UUID))
		}
	}
	h.link, h.exportContext = opaque(values[2]), opaque(values[3])
	return h, nil
}

func opaque(values []string) []byte {
	if len(values) == 0 || values[0] == "" {
		return nil
	}
	return []byte(values[0])
}

// header returns a header that occurs exactly once; otherwise empty.
func header(r *http.Request, name string) string {
	if values := r.Header.Values(name); len(values) == 1 {
		return values[0]
	}
	return ""
}

func hexOf(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
