package relay

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

const noticesFreshFor = time.Hour

// The bounds of the text of a compliance group.
const (
	maxNotice      = 64 << 10 // bytes of the answer
	maxNoticeTitle = 255      // characters
)

// Notice returns what a tenant's service has applicants read before the questions of a compliance group; nil: it has no
// such text, or was never asked. It waits for patience where it was never asked.
func (r *Relay) Notice(ctx context.Context, tenant string, u *model.ApplyUpstream, group string,
	patience time.Duration) (*model.ComplianceNotice, error) {
	if !slices.Contains(compliance.Groups, group) {
		return nil, nil
	}
	n, at, err := r.Store.UpstreamNotice(ctx, tenant, group)
	if err != nil || !r.renewed(ctx, group+" "+tenant, at, noticesFreshFor, patience, func(ctx context.Context) error {
		return r.readNotice(ctx, tenant, u, group)
	}) {
		return n, err
	}
	n, _, err = r.Store.UpstreamNotice(ctx, tenant, group)
	return n, err
}

// readNotice asks the service, and stores what it says. The text is public, and asked for without a token.
func (r *Relay) readNotice(ctx context.Context, tenant string, u *model.ApplyUpstream, group string) error {
	a, err := r.client(tenant, u, nil).Send(ctx, http.MethodGet, applyclient.CompliancePath(group), "", applyclient.Body{}, nil)
	if err == nil && (a.Status/100 == 5 || a.Status == http.StatusTooManyRequests) {
		err = errors.New(said(a))
	}
	if err == nil {
		err = r.Store.Write(ctx, func(tx *store.Tx) error {
			return tx.UpsertUpstreamNotice(tenant, group, noticeOf(a, group), r.Now())
		})
	}
	if err != nil {
		r.Log.Warn("a service does not say the text of a compliance group; forms show what is known, or this gateway's",
			zap.String("tenant", tenant), zap.String("group", group), zap.Error(err))
	}
	return err
}

// noticeOf returns the text in an answer; nil: it has none. Paragraphs are text, whatever is in them.
func noticeOf(a *applyclient.Reply, group string) *model.ComplianceNotice {
	n := new(model.ComplianceNotice)
	if a.Status != http.StatusOK || len(a.Body) > maxNotice || json.Unmarshal(a.Body, n) != nil || n.Group != group {
		return nil
	}
	n.Text = slices.DeleteFunc(n.Text, func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(n.Text) == 0 || strings.TrimSpace(n.Title) == "" || utf8.RuneCountInString(n.Title) > maxNoticeTitle {
		return nil
	}
	return n
}
