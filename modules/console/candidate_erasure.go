package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
)

// mostToErase is how many candidates are erased at once.
const mostToErase = 100

// sortByName puts namesakes beside each other.
func sortByName(all []candidate) {
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Called()), strings.ToLower(b.Called())), strings.Compare(a.ID, b.ID))
	})
}

// erasurePage is the template data of the page on which candidates are erased.
type erasurePage struct {
	Tenant     string
	Candidates []candidate // that were ticked, namesakes beside each other
	Receipt    string      // that says what was erased, as JSON; empty: nothing was yet
}

// eraseCandidates shows the candidates that were ticked, and once somebody is sure, erases all that is held of these and of no
// others.
func eraseCandidates(v *visitor) error {
	shown := erasurePage{Tenant: cmp.Or(v.person.Tenant, v.PostFormValue("tenant"))}
	ids := slices.Compact(slices.Sorted(slices.Values(v.PostForm["id"])))
	switch {
	case len(ids) == 0:
		return &failure{status: http.StatusBadRequest, Text: "NobodyTicked"}
	case len(ids) > mostToErase:
		return &failure{status: http.StatusBadRequest, Text: "TooManyTicked"}
	}
	for _, id := range ids {
		var c candidate
		switch err := v.get(at("tenants", shown.Tenant, "candidates", id), nil, &c); {
		case errors.Is(err, errNotFound): // somebody else has erased them
		case err != nil:
			return err
		default:
			shown.Candidates = append(shown.Candidates, c)
		}
	}
	if len(shown.Candidates) == 0 {
		return errNotFound
	}
	sortByName(shown.Candidates)
	if v.PostFormValue("sure") != "yes" {
		return v.page(http.StatusOK, "erasure", "EraseCandidates", &shown)
	}
	in := api.ErasePersonInput{}
	for _, c := range shown.Candidates {
		in.Candidates = append(in.Candidates, c.ID)
	}
	var receipt json.RawMessage
	if err := v.post(at("tenants", shown.Tenant, "people", "erase"), in, &receipt); err != nil {
		return err
	}
	shown.Receipt = string(receipt)
	return v.page(http.StatusOK, "erasure", "ErasedCandidates", &shown)
}
