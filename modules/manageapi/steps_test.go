package manageapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/gateway"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/modules/manageapi"
)

// person is the same fixture, asked by somebody who is signed in to the console.
func (b *fixture) person(role model.Role) *fixture {
	api := manageapi.NewForPeople(func() *gateway.Gateway { return b.Gateway }, b.Log)
	p := *b
	p.url = b.mount("/"+string(role), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(model.WithPerson(r.Context(), model.Person{ID: "console:" + string(role), Role: role})))
	}))
	return &p
}

// What leads each later candidate elsewhere takes an administrator where a person asks; an API key needs its role.
func TestPeopleWhoAdministerChangeHelpers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const (
		steps  = acme + "/steps"
		helper = steps + "/hired/helper"
		before = `{"items":[{"id":"applied","name":"Applied"},{"id":"hired","name":"Hired","helper":{"integrations":["hris"]}}]}`
	)
	b.must(http.StatusOK, http.MethodPut, steps, before)
	recruiter, admin := b.person(model.Operator), b.person(model.Admin)
	keyed := b.keyed()
	key := keyed.as(keyed.key("k-1", "acme", model.Operator))

	for _, c := range []struct{ method, path, body string }{
		{http.MethodPut, helper, `{"integrations":[]}`},
		{http.MethodPut, steps + "/applied/helper", `{"integrations":["hris"]}`},
		{http.MethodDelete, helper, ""},
		{http.MethodPut, steps, strings.Replace(before, `["hris"]`, `["hris","crm"]`, 1)},
		{http.MethodPut, steps, strings.Replace(before, `["hris"]`, `[]`, 1)},
		{http.MethodPut, steps, strings.Replace(before, `"Applied"`, `"Applied","helper":{"integrations":[]}`, 1)},
		{http.MethodPut, steps, `{"items":[{"id":"applied","name":"Applied"}]}`},
		{http.MethodPut, steps, `{"items":[{"id":"applied","name":"Applied"},{"id":"hired2","name":"Hired","helper":{"integrations":["hris"]}}]}`},
		{http.MethodPut, steps, `{"items":[{"id":"hired","name":"Hired"},{"id":"applied","name":"Applied"}]}`},
	} {
		require.Contains(t, recruiter.problem(c.method, c.path, c.body, http.StatusForbidden), "administrators", c.body)
		for _, allowed := range []*fixture{admin, key} {
			require.Less(t, allowed.send(c.method, c.path, c.body).status, 300, c.body)
			b.must(http.StatusOK, http.MethodPut, steps, before)
			b.send(http.MethodDelete, steps+"/applied/helper", "")
		}
	}
	for _, harmless := range []string{
		before,
		`{"items":[{"id":"applied","name":"New"},{"id":"interview","name":"Interview"},{"id":"hired","name":"Taken"}]}`,
		`{"items":[{"id":"applied","name":"New"},{"id":"hired","name":"Taken"}]}`,
	} {
		recruiter.must(http.StatusOK, http.MethodPut, steps, harmless)
	}
	require.Equal(t, []any{"hris"}, get[map[string]any](b, helper)["integrations"])
}
