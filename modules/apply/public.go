package apply

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/store"
)

// shown is a question as the contract has it: these fields, and no others.
type shown struct {
	ID         string        `json:"id"`
	Format     hiring.Format `json:"format"`
	IsRequired bool          `json:"isRequired"`
	Label      string        `json:"label"`
	Options    []string      `json:"options"` // null where there are none
	MaxLength  *int          `json:"maxLength"`
	Group      *string       `json:"group"`
}

// questions answers with what a job asks.
func (x *exchange) questions() *refusal {
	job, err := x.openJob(x.r.Context(), x.code)
	if err != nil {
		return x.away(err)
	}
	if job == nil {
		return noJob()
	}
	for _, group := range job.ComplianceGroups {
		x.noteExpiry(group)
	}
	all := []shown{}
	for _, q := range compliance.Ask(job) {
		s := shown{ID: q.ID, Format: q.Format, IsRequired: q.IsRequired, Label: q.Label, MaxLength: q.MaxLength, Group: q.Group}
		if len(q.Options) > 0 {
			s.Options = q.Options
		}
		all = append(all, s)
	}
	return x.json(all)
}

// noteExpiry tells the operator that a form which is served has expired. It is served all the same.
func (x *exchange) noteExpiry(group string) {
	form, ok := compliance.Find(group)
	if !ok {
		return
	}
	expired := form.Expired(x.Gateway.Now())
	metrics.ComplianceForm(group, expired)
	if expired && x.Guards.tellOnce(group, x.Gateway.Now()) {
		x.Log.Warn("the form of a compliance group has expired and is served all the same: update hiregate", zap.String("group", group), zap.String("form", form.Form), zap.String("expired", form.Expires))
	}
}

// compliance answers with the legal text of a compliance group.
func (x *exchange) compliance() *refusal {
	form, ok := compliance.Find(x.code)
	if !ok {
		return refuse(http.StatusNotFound, "there is no compliance group of this name")
	}
	x.noteExpiry(x.code)
	x.w.Header().Set("Cache-Control", "public, max-age=3600")
	return x.json(struct {
		Group   string   `json:"group"`
		Title   string   `json:"title"`
		Form    string   `json:"form"`
		Source  string   `json:"source"`
		Expires *string  `json:"expires"`
		Text    []string `json:"text"`
	}{form.Group, form.Title, form.Form, form.Source, orNull(form.Expires), form.Text})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

//go:embed openapi.json
var description []byte

func (x *exchange) openAPI() *refusal {
	x.w.Header().Set("Cache-Control", "public, max-age=3600")
	send(x.w, http.StatusOK, description)
	return nil
}

// profile is a job in the feed.
type profile struct {
	PositionID    identifier `json:"positionId"`
	PositionTitle string     `json:"positionTitle"`
	PositionURI   string     `json:"positionUri"`
}

type identifier struct {
	Value          string `json:"value"`
	SchemeID       string `json:"schemeId"`
	SchemeAgencyID string `json:"schemeAgencyId"`
}

// feed answers with the open jobs of a tenant that are syndicated, a page of the store at a time.
func (x *exchange) feed() *refusal {
	tenant, refused := x.feedTenant()
	if refused != nil {
		return refused
	}
	ctx := x.r.Context()
	state, err := x.db.FeedState(ctx, tenant)
	if err != nil {
		return x.away(err)
	}
	sum := digest.Of(tenant, strconv.FormatInt(state.Jobs, 10), strconv.FormatInt(state.Versions, 10), strconv.FormatInt(state.UpdatedAt, 10), x.Gateway.Config.Names.Service)
	tag := fmt.Sprintf(`"%.16x"`, sum)
	h := x.w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public, no-cache")
	if matches(x.r.Header.Values("If-None-Match"), tag) {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	page, next, err := x.db.FeedJobs(ctx, tenant, store.Page{Limit: store.MaxPage})
	if err != nil {
		return x.away(err)
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	x.w.WriteHeader(http.StatusOK)
	if err := x.writeFeed(tenant, page, next); err != nil {
		if ctx.Err() == nil && errors.Is(err, store.ErrUnavailable) {
			x.Log.Error("a job feed was cut off", zap.String("request", x.id()), zap.Error(err))
		}
		panic(http.ErrAbortHandler) // what is half there must not look whole
	}
	return nil
}

func (x *exchange) writeFeed(tenant string, page []*store.Position, next string) error {
	out := bufio.NewWriter(x.w)
	out.WriteString(`{"positionProfiles":[`)
	agency := x.Gateway.Config.Names.Service
	for first := true; ; {
		for _, j := range page {
			if !first {
				out.WriteByte(',')
			}
			first = false
			raw, err := encode(profile{identifier{j.BoardCode, agency + " Job Board Code", agency}, j.Title, j.URI})
			if err != nil {
				return err
			}
			out.Write(raw)
		}
		if next == "" {
			break
		}
		var err error
		if page, next, err = x.db.FeedJobs(x.r.Context(), tenant, store.Page{After: next, Limit: store.MaxPage}); err != nil {
			return err
		}
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// matches tells whether If-None-Match names a tag; a cache on the way may have weakened it.
func matches(header []string, tag string) bool {
	for _, one := range strings.Split(strings.Join(header, ","), ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == "*" || one == tag {
			return true
		}
	}
	return false
}

// feedTenant is whose feed is asked for.
func (x *exchange) feedTenant() (string, *refusal) {
	asked := x.r.URL.Query()["tenant"]
	tenant := x.Tenant
	if len(asked) > 0 {
		tenant = asked[0]
	}
	if tenant == "" || len(asked) > 1 {
		return "", refuse(http.StatusBadRequest, "say whose jobs: add ?tenant= with the name of one tenant")
	}
	if !x.serves(tenant) {
		return "", refuse(http.StatusNotFound, "there is no tenant of this name here")
	}
	return tenant, nil
}
