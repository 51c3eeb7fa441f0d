package receiver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// hops counts how often a body was exported here before. If its documents have our URLs, it was delivered from here,
// and an integration leads back. Each round creates new URLs, and so another body: without a limit it would circulate
// forever.
//
// One URL is enough to detect that: a delivery replaces all of a body's URLs, or none.
func (in *intake) hops(doc *schemas.Document) (hops int, result string) {
	for _, a := range doc.Attachments {
		hash, ok := documents.HashURL(a.URL)
		if !ok {
			continue
		}
		ctx, cancel := context.WithTimeout(in.r.Context(), readyWithin)
		defer cancel()
		source, err := in.Gateway.Runtime.Store().LinkSource(ctx, hash)
		switch {
		case errors.Is(err, store.ErrNotFound): // of another hiregate
			return 0, ""
		case err != nil:
			in.Gateway.Runtime.Outage.Refused(in.tenant.Name, err, in.Gateway.Now(), in.Log)
			problem.Unavailable(in.w)
			return 0, "unavailable"
		case source.Hops >= model.MaxHops:
			return 0, in.loop(source.Tenant)
		}
		return source.Hops + 1, ""
	}
	return 0, ""
}

// loop refuses an export that has come back too often. The answer names the integration but not the tenant, which may
// be another one than the sender.
func (in *intake) loop(from string) (result string) {
	var names []string
	if t, ok := in.Gateway.Config.Tenant(from); ok {
		names = in.leadingHere(t)
	}
	in.Log.Warn(
		"an export came back for the fourth time and was refused: have the integration lead elsewhere, or remove it",
		zap.String("tenant", in.tenant.Name), zap.String("from_tenant", from), zap.Strings("integrations", names))
	who := "an integration"
	if len(names) > 0 {
		who = "the integration " + strings.Join(names, " or ")
	}
	return in.refuse("loop", problem.New(http.StatusUnprocessableEntity, fmt.Sprintf(
		"this export has gone through this gateway %d times already: %s leads back to this address; have it lead "+
			"elsewhere, or remove it", model.MaxHops, who)))
}

// leadingHere names the integrations of a tenant whose URL has the path of this request. If none has, it names all: a
// proxy may have changed the path.
func (in *intake) leadingHere(t *model.Tenant) []string {
	var all, here []string
	for _, i := range t.Integrations {
		all = append(all, i.Name)
		if u, err := url.Parse(i.URL); err == nil && u.Path == gateway.OriginalPath(in.r) {
			here = append(here, i.Name)
		}
	}
	if len(here) > 0 {
		return here
	}
	return all
}
