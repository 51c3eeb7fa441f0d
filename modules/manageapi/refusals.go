package manageapi

import (
	"fmt"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
)

// refusals are the authorization requests that sign-in refused, the latest first: of unknown clients, or with a
// redirect URI that is not the client's.
var refusals = resource[identity.Refusal]{
	path: "/v1/sign-in-refusals", kind: "sign-in-refusal", scope: shared, reader: model.Admin,
	filters: []string{"client"}, view: as(refusalOf),
	list: func(r *request) ([]identity.Refusal, string, error) {
		all, err := r.db.ListRefusals(r.Context(), r.query.Get("client"))
		rows, next := part(r.page, all, func(f identity.Refusal) string {
			return fmt.Sprintf("%016x%016x", ^uint64(f.LastAt.UnixMicro()), ^uint64(f.ID)) // rises as they grow older
		})
		return rows, next, err
	},
}

func refusalOf(f identity.Refusal) api.SignInRefusal {
	return api.SignInRefusal{ID: strconv.FormatInt(f.ID, 10), Client: f.Client, Known: f.Known, Reason: f.Reason,
		RedirectURI: f.RedirectURI, Count: f.Count, FirstAt: f.FirstAt, LastAt: f.LastAt}
}
