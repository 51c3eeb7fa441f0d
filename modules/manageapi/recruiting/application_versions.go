package recruiting

import (
	"cmp"
	"net/http"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// applicationVersions serves what was sent again for the same job within a day, under the same e-mail address.
var applicationVersions = rest.Resource[*model.JobApplication]{
	Path: anApplication + "/versions", Kind: "version", Reader: model.Viewer, Personal: true,
	List: listVersions, View: rest.Identity[*model.JobApplication],
}

func listVersions(r *rest.Request) ([]*model.JobApplication, string, error) {
	a, err := applicationOf(r)
	if err != nil {
		return nil, "", err
	}
	return r.DB.ListApplicationVersions(r.Context(), a.Tenant, a.ID, store.Page{After: r.Page.After, Limit: r.Page.Limit})
}

// chooseVersion has exports have the files of a version, or again those of the job application itself.
func chooseVersion(r *rest.Request) (any, error) {
	var first *model.JobApplication
	err := r.Update(func(tx *store.Tx) error {
		a, ok, err := tx.JobApplication(r.Tenant.Name, r.PathValue("id"))
		if err != nil {
			return err
		}
		if !ok {
			return cmp.Or[error](r.Expect(""), noApplication)
		}
		if err := r.Expect(rest.Tag(&a.Row)); err != nil {
			return err
		}
		first, ok, err = tx.JobApplication(a.Tenant, cmp.Or(a.VersionOf, a.ID))
		if err == nil && !ok {
			err = noApplication
		}
		if err != nil {
			return err
		}
		if err := r.Note(tx, rest.PathOf("/v1/tenants", a.Tenant, "job-applications", a.ID)); err != nil {
			return err
		}
		chosen := ""
		if a.VersionOf != "" {
			chosen = a.ID
		}
		if first.Chosen == chosen {
			return nil
		}
		first.Chosen = chosen
		return tx.UpsertJobApplication(first, r.Gateway.Now())
	})
	if err != nil {
		return nil, err
	}
	return first, nil
}

// chosenBefore answers the repeat of a request that chose a version.
func chosenBefore(r *rest.Request, _ string) (any, error) {
	a, err := applicationOf(r)
	if err != nil || a.VersionOf == "" {
		return a, err
	}
	first, err := r.DB.JobApplication(r.Context(), a.Tenant, a.VersionOf)
	return first, rest.NotFound(err, noApplication)
}

// checkNoVersion refuses what is done to a job application alone, and not to a further version of one.
func checkNoVersion(a *model.JobApplication) error {
	if a.VersionOf == "" {
		return nil
	}
	return problem.Newf(http.StatusConflict, "it is a further version of the job application %s: do this to that one", a.VersionOf)
}
