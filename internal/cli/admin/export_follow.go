package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	pollEvery = time.Second
	// settleWithin is how long the line of an export waits for the first attempt at each integration.
	settleWithin = 2 * time.Second
	// lateWithin is how much earlier than the newest one an export may be received that is stored after it.
	lateWithin = 10 * time.Second
	// mostAtOnce bounds the exports that are read at once, and so the memory.
	mostAtOnce = 10 * maxPage
)

// exportList is the command list, which can also follow the list.
func exportList(a *Client) *cobra.Command {
	cmd := exports.list(a)
	follow, list := false, cmd.RunE
	cmd.Flags().BoolVar(&follow, "follow", false, "print the exports that come from now on, a line each, until Ctrl-C; "+
		"with --since those since then as well")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if follow {
			return interruptible(a.followExports)(cmd, args)
		}
		return list(cmd, args)
	}
	return cmd
}

// followExports prints exports as they come. An interrupt is no error.
func (a *Client) followExports(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
	f := &follower{Client: a, query: url.Values{}, out: cmd.OutOrStdout(), hints: cmd.ErrOrStderr(),
		seen: map[string]*sighting{}}
	if f.path, err = exports.listed(args, f.query); err != nil {
		return err
	}
	for _, one := range append([]filter{{flag: "limit"}, {flag: "all"}}, exports.filters...) {
		if !one.follows && cmd.Flags().Changed(one.flag) {
			return fmt.Errorf("--follow prints exports as they come: leave out --%s", one.flag)
		}
	}
	for _, one := range exports.filters {
		if err := one.apply(cmd.Flags(), f.query, len(args) > 0); err != nil {
			return err
		}
	}
	if err = f.begin(ctx); err == nil {
		err = f.run(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// follower prints each export once: when it is known what became of it at first, or after settleWithin. It reads the
// newest exports again and again, and remembers those of the last moments.
type follower struct {
	*Client
	path       string
	query      url.Values
	out, hints io.Writer

	after  time.Time // exports that were received later are printed
	newest time.Time // when the newest export was received
	seen   map[string]*sighting
}

// sighting is an export that was seen.
type sighting struct {
	received, at time.Time
	printed      bool
}

// begin finds out from when on exports are printed: from --since, or after the newest one, by the gateway's clock.
func (f *follower) begin(ctx context.Context) error {
	query := maps.Clone(f.query)
	query.Set("limit", "1")
	page, err := f.page(ctx, http.MethodGet, f.path, query, nil)
	if err != nil {
		return err
	}
	if since := f.query.Get("since"); since != "" {
		at, err := time.Parse(time.RFC3339Nano, since)
		f.after = at.Add(-time.Microsecond)
		return err
	}
	if len(page.Items) > 0 {
		e, err := f.export(page.Items[0])
		f.after = e.ReceivedAt
		return err
	}
	return nil
}

// run ends with ctx, or with an answer that says that it makes no sense to go on. It waits for a gateway that is away.
func (f *follower) run(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for away := false; ; {
		err := f.poll(ctx)
		refused := new(Refusal)
		switch {
		case ctx.Err() != nil, errors.As(err, &refused) && refused.Status/100 == 4:
			return err
		case err != nil && !away:
			fmt.Fprintf(f.hints, "Waiting: %v\n", err)
		case err == nil && away:
			fmt.Fprintln(f.hints, "The gateway answers again.")
		}
		away = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// poll prints what came, the oldest first.
func (f *follower) poll(ctx context.Context) error {
	lines, err := f.read(ctx, time.Now())
	for _, line := range slices.Backward(lines) {
		if _, err := io.WriteString(f.out, line); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return err
}

// read returns the lines of the exports to be printed now, the newest first.
func (f *follower) read(ctx context.Context, now time.Time) (lines []string, err error) {
	since := f.after
	if late := f.newest.Add(-lateWithin); late.After(since) {
		since = late
	}
	maps.DeleteFunc(f.seen, func(_ string, s *sighting) bool { return s.received.Before(since) })
	waiting := 0 // that are seen and not printed yet
	for _, s := range f.seen {
		if !s.printed {
			waiting++
		}
	}
	query := maps.Clone(f.query)
	if !since.IsZero() {
		query.Set("since", since.Format(time.RFC3339Nano))
	}
	query.Set("limit", strconv.Itoa(maxPage))
	for n := 0; ; {
		page, err := f.page(ctx, http.MethodGet, f.path, query, nil)
		if err != nil {
			return lines, err
		}
		unprinted := false
		for _, raw := range page.Items {
			e, err := f.export(raw)
			if err != nil {
				return lines, err
			}
			if e.ReceivedAt.After(f.newest) {
				f.newest = e.ReceivedAt
			}
			key := e.Tenant + "/" + e.ID
			s := f.seen[key]
			switch {
			case !e.ReceivedAt.After(f.after) || s != nil && s.printed:
				continue
			case s == nil:
				s = &sighting{received: e.ReceivedAt, at: now}
				f.seen[key] = s
			default:
				waiting--
			}
			unprinted = true
			if s.printed = tried(e) || now.Sub(s.at) >= settleWithin; s.printed {
				lines = append(lines, f.line(e, raw))
			}
		}
		if page.Next == nil || !unprinted && waiting == 0 {
			return lines, nil
		}
		if n += len(page.Items); n >= mostAtOnce {
			fmt.Fprintf(f.hints, "More exports came than are shown: hiregate export list --all --since %s lists them.\n",
				since.UTC().Format(time.RFC3339))
			f.after = f.newest
			return lines, nil
		}
		query.Set("cursor", *page.Next)
	}
}

func (f *follower) export(raw json.RawMessage) (*api.ExportDetail, error) {
	e := new(api.ExportDetail)
	if json.Unmarshal(raw, e) != nil {
		return e, f.elsewhere(strange)
	}
	return e, nil
}

// line returns the line of an export: when it was received, which it is, and in the colour of the worst delivery where
// it is.
func (f *follower) line(e *api.ExportDetail, raw json.RawMessage) string {
	if f.json {
		var b strings.Builder
		_ = terminal.WriteJSON(&b, raw) // a Builder never fails
		return b.String()
	}
	name, where := terminal.Printable(e.Tenant+"/"+e.ID), cmp.Or(standing(e), "no integration")
	if screen, ok := f.out.(*terminal.Screen); ok {
		where = screen.Paint(worst(e), where)
	}
	return fmt.Sprintf("%s  %s  %s\n", e.ReceivedAt.UTC().Format(time.RFC3339), name, where)
}

// tried reports whether each integration was tried, or will not be for now.
func tried(e *api.ExportDetail) bool {
	return e.Quarantined || e.State == api.ExportFault ||
		len(e.Deliveries) > 0 && worst(e) != terminal.State(api.ExportWaiting) && worst(e) != terminal.State(model.Pending)
}

// worst returns the state of an export that needs the most attention.
func worst(e *api.ExportDetail) terminal.State {
	switch {
	case e.State == api.ExportFault || e.State == api.ExportWaiting:
		return terminal.State(e.State)
	case e.Quarantined:
		return terminal.State(model.Held)
	}
	for _, outcome := range []model.Outcome{model.Pending, model.Failed, model.Expired, model.Held, model.Retrying} {
		if slices.ContainsFunc(e.Deliveries, func(d api.DeliveryDetail) bool { return d.Current && d.Outcome == outcome }) {
			return terminal.State(outcome)
		}
	}
	return terminal.State(model.Delivered)
}
