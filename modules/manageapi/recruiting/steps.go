package recruiting

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// maxSteps is the most steps that a tenant's workflow has.
const maxSteps = 100

// InOrder sorts steps as they stand in the workflow.
func InOrder(all []*model.Step) {
	slices.SortStableFunc(all, func(a, b *model.Step) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID))
	})
}

// tagOf returns the entity tag of all steps together; empty: there are none.
func tagOf(all []*model.Step) string {
	if len(all) == 0 {
		return ""
	}
	var parts []string
	for _, s := range all {
		parts = append(parts, s.ID, rest.Tag(&s.Row))
	}
	return fmt.Sprintf(`"%.16x"`, digest.Of(strings.Join(parts, " ")))
}

// listSteps lists a tenant's steps in the order of its workflow: all of them, unless the request has a limit, because
// a PUT takes all. Only the whole list has an entity tag.
func listSteps(r *rest.Request) (any, error) {
	page := r.Page
	if !r.Query.Has("limit") {
		page.Limit = maxSteps
	}
	t := r.Tenant
	all, _, err := r.DB.ListSteps(r.Context(), t.Name, store.Page{Limit: maxSteps})
	if err != nil {
		return nil, err
	}
	InOrder(all)
	rows, next := rest.PageOf(page, all, func(s *model.Step) string { return fmt.Sprintf("%09d", s.Position) })
	if len(rows) == len(all) {
		r.ETag = tagOf(all)
	}
	return rest.Listed(page, rows, next, rest.Identity[*model.Step]), nil
}

// putSteps replaces a tenant's steps by a list, in its order. A step that stays keeps its helper, unless another comes
// with it.
func putSteps(r *rest.Request) (any, error) {
	t := r.Tenant
	in, err := rest.Decode[api.StepsInput](r)
	if err == nil && in.Next != nil {
		err = problem.New(http.StatusUnprocessableEntity, "this is a page of the steps, and the others would be lost: "+
			"send all steps, with next null or left out")
	}
	if err == nil {
		err = checkSteps(r, in.Items)
	}
	if err != nil {
		return nil, err
	}
	var kept []*model.Step
	err = r.Update(func(tx *store.Tx) (err error) {
		kept, err = replaceSteps(r, tx, t, in.Items)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.ETag = tagOf(kept)
	return api.List[*model.Step]{Items: kept}, nil
}

func checkSteps(r *rest.Request, items []model.Step) error {
	if items == nil {
		return problem.New(http.StatusUnprocessableEntity,
			`items is missing: send all steps in their order, as {"items":[{"id":"applied","name":"Applied"}]}`)
	}
	if len(items) > maxSteps {
		return problem.Newf(http.StatusUnprocessableEntity, "there are more than %d steps: leave some out", maxSteps)
	}
	seen := map[string]bool{}
	for n := range items {
		s := &items[n]
		s.Position = n
		err := s.Validate()
		if faults := new(model.InvalidError); errors.As(err, &faults) {
			for i := range faults.Faults {
				faults.Faults[i] = fmt.Sprintf("items[%d].%s", n, faults.Faults[i])
			}
		}
		if err := rest.Invalid(err); err != nil {
			return err
		}
		if seen[s.ID] {
			return problem.Newf(http.StatusUnprocessableEntity,
				"items[%d].id is that of a step before: give each an id of its own", n)
		}
		seen[s.ID] = true
	}
	return nil
}

func replaceSteps(r *rest.Request, tx *store.Tx, t *model.Tenant, items []model.Step) ([]*model.Step, error) {
	before, err := tx.ListSteps(t.Name)
	if err != nil {
		return nil, err
	}
	InOrder(before)
	if err := r.Expect(tagOf(before)); err != nil {
		return nil, err
	}
	gone := map[string]*model.Step{}
	for _, s := range before {
		gone[s.ID] = s
	}
	kept := make([]*model.Step, len(items))
	for n, s := range items {
		s.Row = model.Row{Tenant: t.Name}
		var helper *model.Helper // that it has
		if b, ok := gone[s.ID]; ok {
			s.Row, helper = b.Row, b.Helper
			delete(gone, s.ID)
		}
		if err := checkHelper(t, s.Helper, helper); err != nil {
			return nil, err
		}
		if s.Helper == nil {
			s.Helper = helper
		}
		kept[n] = &s
		if err := tx.UpsertStep(&s, r.Gateway.Now()); err != nil {
			return nil, err
		}
	}
	if !maps.EqualFunc(helpersOf(before), helpersOf(kept), slices.Equal) {
		if err := checkHelperRights(r.Caller); err != nil {
			return nil, err
		}
	}
	for _, s := range gone {
		in, err := tx.CountOpenApplicationsIn(t.Name, s.ID)
		switch {
		case err != nil:
			return nil, err
		case in > 0:
			return nil, problem.Newf(http.StatusConflict, "the step %s is the one of %d open job applications: move or end them first",
				s.ID, in)
		}
		if err := tx.DeleteStep(s); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// helpersOf returns the integrations of the helpers by the id of their step; under an empty id those of the step that
// new job applications enter.
func helpersOf(InOrder []*model.Step) map[string][]string {
	all := map[string][]string{}
	for n, s := range InOrder {
		if s.Helper == nil {
			continue
		}
		all[s.ID] = s.Helper.Integrations
		if n == 0 {
			all[""] = s.Helper.Integrations
		}
	}
	return all
}

// checkHelper says which integration of a step's helper the tenant does not have. One that the helper named before may
// be gone since; it gets nothing, and stays until the helper is changed.
func checkHelper(t *model.Tenant, h, before *model.Helper) error {
	if h == nil {
		return nil
	}
	added := h.Integrations
	if before != nil {
		added = slices.DeleteFunc(slices.Clone(added),
			func(name string) bool { return slices.Contains(before.Integrations, name) })
	}
	return KnownIntegrations(t, added)
}

// KnownIntegrations returns an error that names the integration, of some, that a tenant does not have.
func KnownIntegrations(t *model.Tenant, names []string) error {
	for _, name := range names {
		if _, ok := t.Integration(name); !ok {
			return problem.Newf(http.StatusUnprocessableEntity, "this tenant has no integration %.63q: add it first", name)
		}
	}
	return nil
}
