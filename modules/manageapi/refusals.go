package manageapi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
)

// refusal is an authorization request that sign-in refused, as it is shown.
type refusal struct {
	ID          string    `json:"id"`
	Client      string    `json:"client"`
	Known       bool      `json:"known"`
	Reason      string    `json:"reason"`
	RedirectURI string    `json:"redirectUri"`
	Count       int64     `json:"count"`
	FirstAt     time.Time `json:"firstAt"`
	LastAt      time.Time `json:"lastAt"`
}

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

func refusalOf(f identity.Refusal) refusal {
	return refusal{strconv.FormatInt(f.ID, 10), f.Client, f.Known, f.Reason, f.RedirectURI, f.Count, f.FirstAt, f.LastAt}
}
