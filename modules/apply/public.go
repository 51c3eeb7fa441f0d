package apply

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/etag"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// shown is a question with only the fields of the contract.
type shown struct {
	ID         string       `json:"id"`
	Format     model.Format `json:"format"`
	IsRequired bool         `json:"isRequired"`
	Label      string       `json:"label"`
	Options    []string     `json:"options"` // null where there are none
	MaxLength  *int         `json:"maxLength"`
	Group      *string      `json:"group"`
}

// questions answers with the questions of a job.
func (a *API) questions(w http.ResponseWriter, r *http.Request, c *caller) error {
	questions, err := a.backendOf(c.user.Tenant, r).questions(w, r.PathValue("code"))
	if err != nil {
		return err
	}
	all := []shown{}
	for _, q := range questions {
		s := shown{ID: q.ID, Format: q.Format, IsRequired: q.IsRequired, Label: q.Label, MaxLength: q.MaxLength,
			Group: q.Group}
		if len(q.Options) > 0 {
			s.Options = q.Options
		}
		all = append(all, s)
	}
	return writeJSON(w, all)
}

// noteExpiry logs that a form which is still served has expired.
func (a *API) noteExpiry(group string) {
	form, ok := compliance.Find(group)
	if !ok {
		return
	}
	expired := form.Expired(a.Gateway.Now())
	metrics.ComplianceForm(group, expired)
	if expired && a.Guards.warns(group, a.Gateway.Now()) {
		a.Log.Warn("the form of a compliance group has expired and is still served: update hiregate",
			zap.String("group", group), zap.String("form", form.Form), zap.String("expired", form.Expires))
	}
}

// compliance answers with the legal text of a compliance group.
func (a *API) compliance(w http.ResponseWriter, r *http.Request) error {
	form, ok := compliance.Find(r.PathValue("group"))
	if !ok {
		return problem.New(http.StatusNotFound, "there is no compliance group of this name")
	}
	a.noteExpiry(form.Group)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	return writeJSON(w, form.Notice())
}

//go:embed openapi.json
var description []byte

func (a *API) openAPI(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Cache-Control", "public, max-age=3600")
	send(w, http.StatusOK, description)
	return nil
}

// profile is a job in the feed.
type profile struct {
	PositionID    identifier `json:"positionId"`
	PositionTitle string     `json:"positionTitle"`
	PositionURI   string     `json:"positionUri"`
	Place         string     `json:"place,omitempty"`
	Description   string     `json:"description,omitempty"`
	UpdatedAt     time.Time  `json:"updatedAt"`
}

type identifier struct {
	Value          string `json:"value"`
	SchemeID       string `json:"schemeId"`
	SchemeAgencyID string `json:"schemeAgencyId"`
}

// feed answers with the open jobs of a tenant that are syndicated, a page of the store at a time.
func (a *API) feed(w http.ResponseWriter, r *http.Request) error {
	tenant, err := a.feedTenant(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	state, err := a.db().FeedState(ctx, tenant)
	if err != nil {
		return err
	}
	tag := etag.Of(tenant, strconv.FormatInt(state.Jobs, 10), strconv.FormatInt(state.Versions, 10),
		strconv.FormatInt(state.UpdatedAt, 10), a.Gateway.Config.Names.Service)
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public, no-cache")
	if etag.ListedWeakly(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	page, next, err := a.db().ListFeedJobs(ctx, tenant, store.Page{Limit: store.MaxPage})
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	if err := a.writeFeed(ctx, w, tenant, page, next); err != nil {
		if ctx.Err() == nil && errors.Is(err, store.ErrUnavailable) {
			a.Log.Error("a job feed was cut off", zap.String("request", h.Get(requestID)), zap.Error(err))
		}
		panic(http.ErrAbortHandler) // a partial feed must not look complete
	}
	return nil
}

func (a *API) writeFeed(ctx context.Context, w io.Writer, tenant string, page []*store.Position, next string) error {
	out := bufio.NewWriter(w)
	out.WriteString(`{"positionProfiles":[`)
	agency, now := a.Gateway.Config.Names.Service, a.Gateway.Now()
	for first := true; ; {
		for _, j := range page {
			if !j.ClosesAt.IsZero() && !now.Before(j.ClosesAt) {
				continue
			}
			if !first {
				out.WriteByte(',')
			}
			first = false
			raw, err := encode(profile{identifier{j.BoardCode, agency + " Job Board Code", agency}, j.Title, j.URI, j.Place,
				j.Description, j.UpdatedAt})
			if err != nil {
				return err
			}
			out.Write(raw)
		}
		if next == "" {
			break
		}
		var err error
		if page, next, err = a.db().ListFeedJobs(ctx, tenant, store.Page{After: next, Limit: store.MaxPage}); err != nil {
			return err
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// feedTenant returns the tenant whose feed is requested.
func (a *API) feedTenant(r *http.Request) (string, error) {
	asked := r.URL.Query()["tenant"]
	tenant := a.Tenant
	if len(asked) > 0 {
		tenant = asked[0]
	}
	if tenant == "" || len(asked) > 1 {
		return "", problem.New(http.StatusBadRequest, "say whose jobs: add ?tenant= with the name of one tenant")
	}
	if !a.serves(tenant) {
		return "", problem.New(http.StatusNotFound, "there is no tenant of this name here")
	}
	return tenant, nil
}
