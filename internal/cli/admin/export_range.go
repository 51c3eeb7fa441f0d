package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// exportRange chooses exports of a tenant that something is done to, one after the other.
type exportRange struct {
	tenant, since, until string
	undelivered          bool
}

// add adds the flags. verb is what is done to the exports.
func (f *exportRange) add(cmd *cobra.Command, verb string) {
	fl := cmd.Flags()
	fl.StringVar(&f.tenant, "tenant", "", "the tenant whose exports they are")
	fl.StringVar(&f.since, "since", "", verb+" those received since then: a time such as 2026-11-20T12:00:00Z, or how "+
		"long ago, such as 24h")
	fl.StringVar(&f.until, "until", "", verb+" those received before then, written like --since")
	fl.BoolVar(&f.undelivered, "undelivered", false, verb+" those only that are not delivered yet")
}

// chosen reports whether a range is asked for.
func (f *exportRange) chosen() bool { return f.since != "" || f.until != "" || f.undelivered }

var (
	errNoRangeTenant = errors.New("whose exports are they? add --tenant")
	errNoneInRange   = errors.New("no export matches: hiregate export list, with the same flags, shows what there is")
)

// eachExport calls do with the UUID of each export of a range that the query chooses too, the newest first. Those that
// were erased are left out. The error is errNoneInRange when there is none.
func (a *Client) eachExport(ctx context.Context, f *exportRange, query url.Values, do func(uuid string) error) error {
	if f.tenant == "" {
		return errNoRangeTenant
	}
	if err := model.ValidateTenantName(f.tenant); err != nil {
		return err
	}
	if f.undelivered {
		query.Set("undelivered", "true")
	}
	if err := cmp.Or(setTime(query, "since", "since", f.since), setTime(query, "until", "until", f.until)); err != nil {
		return err
	}
	for none := true; ; {
		page, err := a.page(ctx, http.MethodGet, tenantPath(f.tenant, "exports"), query, nil)
		if err != nil {
			return err
		}
		for _, raw := range page.Items {
			var e api.Export
			if err := json.Unmarshal(raw, &e); err != nil {
				return fmt.Errorf("reading what the gateway answered: %w", err)
			}
			if !e.ErasedAt.IsZero() {
				continue
			}
			none = false
			if err := do(e.ID); err != nil {
				return err
			}
		}
		switch {
		case page.Next != nil:
			query.Set("cursor", *page.Next)
		case none:
			return errNoneInRange
		default:
			return nil
		}
	}
}
