package accounts

import (
	"fmt"
	"strconv"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// refusals serves the authorization requests that sign-in refused, the latest first: of unknown clients, or with a
// redirect URI that is not the client's.
var refusals = rest.Resource[identity.Refusal]{
	Path: "/v1/sign-in-refusals", Kind: "sign-in-refusal", Scope: rest.Shared, Reader: model.Admin,
	Filters: []string{"client"}, View: rest.ViewAs(refusalOf),
	List: func(r *rest.Request) ([]identity.Refusal, string, error) {
		all, err := r.DB.ListRefusals(r.Context(), r.Query.Get("client"))
		rows, next := rest.PageOf(r.Page, all, func(f identity.Refusal) string {
			return fmt.Sprintf("%016x%016x", ^uint64(f.LastAt.UnixMicro()), ^uint64(f.ID)) // rises as they grow older
		})
		return rows, next, err
	},
}

func refusalOf(f identity.Refusal) api.SignInRefusal {
	return api.SignInRefusal{ID: strconv.FormatInt(f.ID, 10), Client: f.Client, Known: f.Known, Reason: f.Reason,
		RedirectURI: f.RedirectURI, Count: f.Count, FirstAt: f.FirstAt, LastAt: f.LastAt}
}
