package manageapi

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/modules/manageapi/recruiting"
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// addIntegration makes an integration, once it answered VERIFY with 200.
func addIntegration(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.IntegrationInput](r)
	if err != nil {
		return nil, err
	}
	t := r.Tenant
	if err := changeable(t); err != nil {
		return nil, err
	}
	if _, ok := t.Integration(in.Name); ok {
		return nil, problem.New(http.StatusConflict,
			"this tenant has an integration of that name: choose another, or change that one")
	}
	return saveIntegration(r, t, nil, in)
}

// integrationAddedBefore answers the repeat of a request that added an integration, a moment ago or on another node: the
// tenant of the request may not know it yet.
func integrationAddedBefore(r *rest.Request, location string) (any, error) {
	if err := r.Refresh(); err != nil {
		return nil, err
	}
	i, ok := r.Gateway.Config.Integration(r.Tenant.Name, r.Repeated(location))
	if !ok {
		return nil, noIntegration
	}
	return shownIntegration(r, i)
}

// putIntegration makes an integration, or changes it. What it was stays, unless the new one answers VERIFY with 200.
func putIntegration(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.IntegrationInput](r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if in.Name != "" && in.Name != name {
		return nil, problem.New(http.StatusUnprocessableEntity,
			"the body is of another integration than the address: leave its name out")
	}
	in.Name = name
	t := r.Tenant
	if err := changeable(t); err != nil {
		return nil, err
	}
	before, _ := t.Integration(name)
	there := ""
	if before != nil {
		status, err := r.DB.IntegrationStatus(r.Context(), before)
		if err != nil {
			return nil, err
		}
		there = integrationTag(before, status)
	}
	if err := r.Expect(there); err != nil {
		return nil, err
	}
	return saveIntegration(r, t, before, in)
}

// expectIntegration is Expect for an integration that is there.
func expectIntegration(r *rest.Request, tx *store.Tx, i *model.Integration) error {
	status, err := tx.IntegrationStatus(i)
	if err != nil {
		return err
	}
	return r.Expect(integrationTag(i, status))
}

func integrationPath(i *model.Integration) string {
	return "/v1/tenants/" + i.Tenant + "/integrations/" + i.Name
}

// saveIntegration verifies an integration, where what VERIFY vouches for is new, and keeps it. One that an operator
// disabled stays so.
func saveIntegration(
	r *rest.Request, t *model.Tenant, before *model.Integration, in api.IntegrationInput,
) (any, error) {
	i, err := describedIntegration(r, t, before, in)
	if err != nil {
		return nil, err
	}
	var status *store.IntegrationStatus
	if before == nil || !bytes.Equal(i.Setting(), before.Setting()) {
		if status, err = verifyNow(r, i); err != nil {
			return nil, err
		}
	}
	err = r.Update(func(tx *store.Tx) error {
		disabled := false
		if before != nil { // it may have changed while VERIFY was under way
			stands, err := tx.IntegrationStatus(before)
			if err == nil {
				err = r.Expect(integrationTag(before, stands))
			}
			if err != nil {
				return err
			}
			disabled = stands.ByOperator
		}
		next := *i
		if err := tx.UpsertIntegration(&next, r.Gateway.Now()); err != nil {
			return err
		}
		if status != nil && !disabled {
			if err := tx.UpsertIntegrationStatus(&next, *status); err != nil {
				return err
			}
		}
		return r.Note(tx, integrationPath(i))
	})
	if err == nil {
		err = r.Refresh()
	}
	if err != nil {
		return nil, err
	}
	saved, ok := r.Gateway.Config.Integration(t.Name, i.Name)
	if !ok {
		return nil, noIntegration // it was deleted at once
	}
	if status != nil {
		if err := r.Gateway.Runtime.Releaser.ReleaseOpen(r.Context(), saved); err != nil {
			r.Log.Warn("what was held goes out a little later", zap.Error(err))
		}
	}
	if before == nil {
		r.Status, r.Location = http.StatusCreated, integrationPath(saved)
	}
	return shownIntegration(r, saved)
}

// describedIntegration returns the integration that a request describes. The error says which rule it breaks.
func describedIntegration(r *rest.Request, t *model.Tenant, before *model.Integration, in api.IntegrationInput,
) (*model.Integration, error) {
	i := &model.Integration{
		Tenant: t.Name, Name: in.Name, URL: in.URL, Secret: model.Secret(in.Secret),
		Options: in.WithDefaults(), Verify: true,
	}
	if before != nil {
		i.Row, i.URL, i.Secret = before.Row, cmp.Or(i.URL, before.URL), cmp.Or(i.Secret, before.Secret)
		if in.Secret == "" {
			i.FormerSecret = before.FormerSecret
		}
	}
	if in.Former != nil {
		i.FormerSecret = model.Secret(*in.Former)
	}
	if in.Rotate {
		if before == nil || in.Secret == "" || in.Former != nil {
			return nil, problem.New(http.StatusUnprocessableEntity, "rotate goes with a new secret of an "+
				"integration that is there, and without formerSecret: send these, or leave rotate out")
		}
		i.FormerSecret = before.Secret
	}
	switch {
	case i.FormerSecret == "":
	case before != nil && i.FormerSecret == before.FormerSecret:
		i.RotatedAt = before.RotatedAt
	default:
		i.RotatedAt = r.Gateway.Now()
	}
	authentication, err := describedAuthentication(before, i.URL, in.Authentication)
	if err != nil {
		return nil, err
	}
	i.Authentication = authentication
	c := r.Gateway.Config
	err = cmp.Or(i.Validate(), c.Egress.ValidateURL(i.URL), c.Names.ValidateAuthentication(i.Authentication))
	if err == nil && i.Authentication != nil && i.Authentication.OAuth2 != nil {
		if err = c.Egress.ValidateURL(i.Authentication.OAuth2.TokenURL); err != nil {
			err = fmt.Errorf("authentication.oauth2.tokenUrl: %w", err)
		}
	}
	if err == nil && i.StandardWebhooks {
		err = webhook.ValidateStandardSecrets(i)
	}
	if err == nil && (before == nil || i.Secret != before.Secret && i.Secret != before.FormerSecret) {
		err = i.Secret.ValidateNew()
	}
	return i, rest.Invalid(err)
}

// describedAuthentication returns the credentials that an integration with this URL has after a request. Those that no
// request shows are never sent to another host than they were written for.
func describedAuthentication(before *model.Integration, address string, in *model.Authentication,
) (*model.Authentication, error) {
	switch {
	case in != nil && in.Empty():
		return nil, nil
	case in != nil || before == nil || before.Authentication == nil:
		return in, nil
	case model.URLOrigin(address) != model.URLOrigin(before.URL):
		return nil, problem.New(http.StatusUnprocessableEntity, "authentication is needed: the URL leads to another host, "+
			"to which the credentials of the former one are not sent; send them again, or an empty object for none")
	}
	return before.Authentication, nil
}

// verifyNow sends a VERIFY event (contract, "States and transitions"): an integration that does not answer it with
// exactly 200 is not saved.
func verifyNow(r *rest.Request, i *model.Integration) (*store.IntegrationStatus, error) {
	answer, reason, err := askReceiver(r, i)
	if err != nil {
		return nil, err
	}
	metrics.Verification(i.Tenant, i.Name, reason == "")
	if reason == "" {
		return &store.IntegrationStatus{State: model.Configured, Attempts: 1, UpdatedAt: r.Gateway.Now()}, nil
	}
	t := transcriptOf(r, answer, reason)
	p := problem.New(http.StatusUnprocessableEntity, "nothing was saved: "+t.Reason)
	p.Transcript = t
	return nil, p
}

// deleteIntegration removes an integration and ends the deliveries that are on their way to it.
func deleteIntegration(r *rest.Request) (any, error) {
	t := r.Tenant
	if err := changeable(t); err != nil {
		return nil, err
	}
	i, ok := t.Integration(r.PathValue("name"))
	if !ok {
		return nil, cmp.Or[error](r.Expect(""), noIntegration)
	}
	now := r.Gateway.Now()
	err := r.Update(func(tx *store.Tx) error {
		if err := expectIntegration(r, tx, i); err != nil {
			return err
		}
		if err := unnamed(r, tx, i); err != nil {
			return err
		}
		if err := tx.DeleteIntegration(i, now); err != nil {
			return err
		}
		return tx.UpsertIntegrationStatus(i, store.IntegrationStatus{State: model.Removed, Reason: "it was removed",
			UpdatedAt: now})
	})
	if err == nil {
		err = r.Refresh()
	}
	if err != nil {
		return nil, err
	}
	if err := r.Gateway.Runtime.Releaser.End(r.Context(), i.Tenant, i.Name); err != nil {
		r.Log.Warn("what was on its way to a removed integration ends a little later", zap.Error(err))
	}
	return nil, nil
}

// forced reports whether a request is to be done although something speaks against it.
func forced(r *rest.Request) (bool, error) {
	if r.Query.Has("force") && r.Query.Get("force") != "true" {
		return false, problem.New(http.StatusBadRequest, "force can only be true: leave it out otherwise")
	}
	return r.Query.Has("force"), nil
}

// unnamed refuses to delete an integration that helpers of steps name, unless the request forces it: what enters those
// steps would fail.
func unnamed(r *rest.Request, tx *store.Tx, i *model.Integration) error {
	if force, err := forced(r); force || err != nil {
		return err
	}
	steps, err := tx.ListSteps(i.Tenant)
	if err != nil {
		return err
	}
	recruiting.InOrder(steps)
	var names []string
	for _, s := range steps {
		if s.Names(i.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return problem.Newf(http.StatusConflict, "the helpers of these steps export to the integration: %s; change these first, "+
		"or force it (--force, force=true): each export that they make for it fails then", strings.Join(names, ", "))
}
