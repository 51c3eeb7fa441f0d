package dev

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/admin"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/sample"
)

// sampleIntegration receives the sample tenant's exports: the gateway's own hook of acme. So one hiregate in the
// service's role sends to one in a partner's.
const (
	sampleIntegration = "acme"
	sampleHookSecret  = "acme-signing-secret" // of the tenant acme in dev.Caddyfile
)

// sampleData fills the tenant of the sample data, through the management API. It leaves existing data as it is.
func (f *flags) sampleData(ctx context.Context) error {
	data, err := sample.Load()
	if err != nil {
		return err
	}
	s := &seeding{Client: &admin.Client{Address: loopback(f.admin), Named: true}, data: data,
		base: "/v1/tenants/" + terminal.PathSegment(data.Tenant)}
	for _, step := range []func(context.Context) error{s.tenant, s.integration(loopback(f.http)), s.workflow, s.people,
		s.documents, s.partners} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("filling the tenant %s with sample data: %w", data.Tenant, err)
		}
	}
	if err := s.signIn(f.home())(ctx); err != nil {
		return fmt.Errorf("making the sample user: %w", err)
	}
	return nil
}

type seeding struct {
	*admin.Client
	data *sample.Data
	base string
}

// make creates a resource unless it exists.
func (s *seeding) make(ctx context.Context, path string, resource any) error {
	_, err := s.Send(ctx, http.MethodPut, s.base+path, http.Header{"If-None-Match": {"*"}}, resource, nil)
	return unless(http.StatusPreconditionFailed, err)
}

// unless drops the error of a request that was answered with a status.
func unless(status int, err error) error {
	if refused := new(admin.Refusal); errors.As(err, &refused) && refused.Status == status {
		return nil
	}
	return err
}

func (s *seeding) tenant(ctx context.Context) error {
	return s.make(ctx, "", api.TenantInput{Name: "Initech (sample data)", Secrets: &[]string{}})
}

func (s *seeding) integration(gateway string) func(context.Context) error {
	return func(ctx context.Context) error {
		here := api.IntegrationInput{URL: "http://" + gateway + "/hooks/acme", Secret: sampleHookSecret}
		path := "/integrations/" + sampleIntegration
		if err := s.make(ctx, path, here); err != nil {
			return err
		}
		return s.moved(ctx, path, "http://"+gateway, here.URL)
	}
}

// moved updates the URL of the integration if the gateway was at another port when it was made. An integration that a
// user changed stays: it leads elsewhere, or has another secret and does not answer VERIFY here.
func (s *seeding) moved(ctx context.Context, path, origin, here string) error {
	var i api.Integration // its URL is scheme and host
	if err := s.Call(ctx, http.MethodGet, s.base+path, nil, &i); err != nil {
		return err
	}
	if u, err := url.Parse(i.URL); err != nil || i.URL == origin || u.Hostname() != "127.0.0.1" {
		return nil
	}
	next := i.Input() // the secret stays what it was
	next.URL = here
	return unless(http.StatusUnprocessableEntity, s.Call(ctx, http.MethodPut, s.base+path, next, nil))
}

func (s *seeding) workflow(ctx context.Context) error {
	if err := s.make(ctx, "/steps", api.StepsInput{Items: s.data.Steps}); err != nil {
		return err
	}
	for _, h := range s.data.Helpers {
		if err := s.make(ctx, "/steps/"+terminal.PathSegment(h.Step)+"/helper",
			api.StepHelper{Integrations: h.Integrations}); err != nil {
			return err
		}
	}
	for _, j := range s.data.Jobs {
		if err := s.make(ctx, "/jobs/"+terminal.PathSegment(j.BoardCode), j); err != nil {
			return err
		}
	}
	return nil
}

func (s *seeding) people(ctx context.Context) error {
	for _, c := range s.data.Candidates {
		if err := s.make(ctx, "/candidates/"+terminal.PathSegment(c.ID), c); err != nil {
			return err
		}
	}
	for _, a := range s.data.Applications {
		if err := s.make(ctx, "/job-applications/"+terminal.PathSegment(a.ID), a); err != nil {
			return err
		}
	}
	return s.entered(ctx)
}

// entered moves the job applications that are in no step yet into theirs.
func (s *seeding) entered(ctx context.Context) error {
	for _, e := range s.data.Entered {
		path := s.base + "/job-applications/" + terminal.PathSegment(e.Application)
		var a model.JobApplication
		if err := s.Call(ctx, http.MethodGet, path, nil, &a); err != nil {
			return err
		}
		if a.Status.Name != "" {
			continue
		}
		if err := s.Call(ctx, http.MethodPost, path+"/transitions", api.TransitionInput{Step: e.Step}, nil); err != nil {
			return err
		}
	}
	return nil
}

// partners makes the users of the Apply API.
func (s *seeding) partners(ctx context.Context) error {
	for _, p := range s.data.Partners {
		if err := unless(http.StatusConflict, s.Call(ctx, http.MethodPost, s.base+"/api-users", p, nil)); err != nil {
			return err
		}
	}
	return nil
}

func (s *seeding) documents(ctx context.Context) error {
	there := map[string][]string{}
	for _, d := range s.data.Documents {
		if _, ok := there[d.Application]; ok {
			continue
		}
		var list api.List[api.Document]
		if err := s.Call(ctx, http.MethodGet, s.base+"/job-applications/"+terminal.PathSegment(d.Application)+"/documents",
			nil, &list); err != nil {
			return err
		}
		there[d.Application] = []string{}
		for _, one := range list.Items {
			there[d.Application] = append(there[d.Application], one.ID)
		}
	}
	for _, d := range s.data.Documents {
		if slices.Contains(there[d.Application], d.ID) {
			continue
		}
		content, err := d.Content()
		if err != nil {
			return err
		}
		query := url.Values{"id": {d.ID}, "description": {d.Description}}
		path := s.base + "/job-applications/" + terminal.PathSegment(d.Application) + "/documents?" + query.Encode()
		object := map[string]any{"content": content, "mimeType": d.MediaType, "fileName": d.File}
		if err := s.Call(ctx, http.MethodPost, path, object, nil); err != nil {
			return err
		}
	}
	return nil
}
