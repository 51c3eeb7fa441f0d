package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/hiregate/hiregate/internal/model"
)

// candidate adds to a candidate what the pages show.
type candidate struct{ model.Candidate }

// Called returns the name of a candidate; the id where no name is known.
func (c *candidate) Called() string {
	return cmp.Or(c.Name.Formatted, model.FormattedName(c.Name.Given, c.Name.Family), c.ID)
}

// candidateList is the template data of a list of candidates.
type candidateList struct {
	tenantList[candidate]
	Sought bool // they are those that a search found
	Many   bool // and there are more
}

// listCandidates shows the candidates of a tenant.
func listCandidates(v *visitor) error {
	shown, err := ofTenant[candidate](v, "candidates")
	if err != nil {
		return err
	}
	return v.page(http.StatusOK, "candidates", "Candidates", &candidateList{tenantList: shown})
}

// waysToSeek returns the queries that may find a candidate by what somebody wrote: an e-mail address, a phone number or a
// name.
func waysToSeek(sought string) []url.Values {
	if strings.Contains(sought, "@") {
		return []url.Values{{"email": {sought}}}
	}
	ways := []url.Values{{"name": {sought}}}
	if strings.ContainsFunc(sought, unicode.IsDigit) && !strings.ContainsFunc(sought, unicode.IsLetter) {
		ways = append([]url.Values{{"phone": {sought}}}, ways...)
	}
	return ways
}

// seekCandidate looks for a candidate by their id, e-mail address, phone number or name. It is a POST, so that the address
// of a person is in no address of a page. The only one that is found is led to.
func seekCandidate(v *visitor) error {
	shown := candidateList{Sought: true}
	shown.Tenant = cmp.Or(v.PostFormValue("tenant"), v.person.Tenant)
	sought := strings.TrimSpace(v.PostFormValue("sought"))
	if shown.Tenant == "" || sought == "" {
		return v.redirect("/candidates?" + url.Values{"tenant": {shown.Tenant}}.Encode())
	}
	var c candidate
	switch err := v.get(at("tenants", shown.Tenant, "candidates", sought), nil, &c); {
	case err == nil:
		return v.redirect(profile(shown.Tenant, c.ID))
	case !errors.Is(err, errNotFound):
		return err
	}
	for _, query := range waysToSeek(sought) {
		if len(shown.Items) > 0 {
			break
		}
		query.Set("limit", mostOfEach)
		if err := v.get(at("tenants", shown.Tenant, "candidates"), query, &shown.List); err != nil {
			return err
		}
	}
	shown.Many = shown.Next != nil
	switch {
	case len(shown.Items) == 0:
		return v.page(http.StatusNotFound, "candidates", "Candidates", &shown)
	case len(shown.Items) == 1 && !shown.Many:
		return v.redirect(profile(shown.Tenant, shown.Items[0].ID))
	}
	sortByName(shown.Items)
	return v.page(http.StatusOK, "candidates", "Candidates", &shown)
}

// profile returns the address of a candidate.
func profile(tenant, id string) string {
	return pathOf("candidates", tenant, id)
}
