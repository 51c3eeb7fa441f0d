package console

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/inbox"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// A redelivery to one integration leaves the deliveries to the others in sight, with their buttons; what arrived more
// than once is shown with each time, and who asked for it.
func TestARedeliveryHidesNoOtherDelivery(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	noon := b.Clock.Now()
	e := inbox.NewExport("acme", uuid(1), []byte(`{"candidate":{}}`), noon)
	at := func(integration string, round int, outcome model.Outcome, minutes time.Duration) *model.Delivery {
		d := model.NewDelivery(e, integration, round, noon)
		d.Outcome, d.Attempts, d.UpdatedAt = outcome, 1, noon.Add(minutes*time.Minute)
		return d
	}
	b.Write(t, func(tx *store.Tx) error {
		if _, err := inbox.Insert(tx, e); err != nil {
			return err
		}
		if err := tx.MarkDispatched(e.ID, 0, noon, "ats", "hris"); err != nil {
			return err
		}
		for _, d := range []*model.Delivery{at("ats", 0, model.Retrying, 1), at("hris", 0, model.Delivered, 1)} {
			if err := tx.UpsertDelivery(d); err != nil {
				return err
			}
		}
		next, err := tx.BeginRound(e.ID, []string{"hris"}, noon, noon.Add(model.DeliveryWindow))
		if err != nil {
			return err
		}
		if err := tx.MarkDispatched(e.ID, next.Round, noon, "hris"); err != nil {
			return err
		}
		if err := tx.UpsertDelivery(at("hris", 1, model.Delivered, 30)); err != nil {
			return err
		}
		return tx.MarkBegunBy("console:somebody", e.ID, 1, "hris")
	})
	export := "/exports/acme/" + uuid(1)
	tryAts := `name="integration" value="ats"><button>Try ats now`
	for _, list := range []string{"/exports", "/exports?tenant=acme&outcome=retrying"} {
		text := b.see(ops, list, http.StatusOK)
		require.Contains(t, text, "<span>ats: retrying</span>")
		require.Contains(t, text, "<span>hris: delivered, 2 times</span>")
	}
	text := b.see(ops, export, http.StatusOK)
	require.Contains(t, text, tryAts)
	require.Contains(t, text, `Redelivered, asked for by <span class="id">console:somebody</span>`)

	visitor := b.portal("acme", url.Values{})
	page := func(path string) string { return b.send("", http.MethodGet, path, nil, visitor).Body.String() }
	require.Contains(t, page("/exports"), "ats: retrying")
	require.Contains(t, page(export), tryAts)
	require.Contains(t, page(export), "Redelivered, asked for by hand")
	require.NotContains(t, page(export), "console:somebody", "people of the operator are none of a partner's business")
}

// A round that Temporal refuses says nothing of the deliveries to other integrations.
func TestARefusedRoundHidesNoOtherDelivery(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Retrying)
	e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", uuid(1))
	require.NoError(t, err)
	b.Write(t, func(tx *store.Tx) error {
		if _, err := tx.BeginRound(e.ID, []string{"ats"}, b.Clock.Now(), e.DeliverTill); err != nil {
			return err
		}
		return tx.MarkFault(e.ID, "Temporal refuses the id of its workflow", b.Clock.Now())
	})
	text := b.see(ops, "/exports/acme/"+uuid(1), http.StatusOK)
	require.Contains(t, text, "Temporal refuses the id of its workflow")
	require.Contains(t, text, "retrying, next at 12:05:00")
}

// One click delivers nothing twice: what was received is asked about first, also if the page that asks is old.
func TestARedeliveryOfWhatWasReceivedIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	b.export("acme", uuid(2), model.Failed)
	export := "/exports/acme/" + uuid(1)
	visitor := b.portal("acme", url.Values{})
	for _, form := range []url.Values{{"integration": {"hris"}}, {}} {
		for who, asks := range map[string]string{ops: "It was received already. Deliver it once more?",
			"": "You received it already. Do you want it once more?"} {
			w := b.send(who, http.MethodPost, export+"/redeliver", form, visitor)
			require.Equal(t, http.StatusConflict, w.Code)
			require.Contains(t, w.Body.String(), asks)
			require.Contains(t, w.Body.String(), `name="again" value="yes"`)
		}
	}
	round := func(key string) int {
		e, err := b.Runtime.Store().ExportByKey(t.Context(), "acme", key)
		require.NoError(t, err)
		return e.Round
	}
	require.Zero(t, round(uuid(1)))
	b.post(ops, export+"/redeliver", url.Values{"integration": {"hris"}, "again": {"yes"}}, http.StatusSeeOther)
	require.Equal(t, 1, round(uuid(1)))
	b.post(ops, "/exports/acme/"+uuid(2)+"/redeliver", url.Values{"integration": {"hris"}}, http.StatusSeeOther)
	require.Equal(t, 1, round(uuid(2)), "what failed is not asked about")

	b.export("acme", uuid(3), model.Delivered)
	b.post(ops, "/exports/acme/"+uuid(3)+"/erase", url.Values{"sure": {"yes"}}, http.StatusSeeOther)
	text := b.post(ops, "/exports/acme/"+uuid(3)+"/redeliver", url.Values{"integration": {"hris"}}, http.StatusConflict)
	require.NotContains(t, text, `name="again"`, "it can't be delivered any more")
	require.Contains(t, text, "was erased")
}

// The list of redeliveries is of the tenant that is chosen.
func TestRedeliveriesOfATenant(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	b.Clock.Advance(time.Hour)
	b.post(ops, "/redeliveries", url.Values{"tenant": {"acme"}, "integration": {"hris"}, "mode": {"all"},
		"since": {"2026-11-01T00:00"}}, http.StatusSeeOther)
	for _, all := range []string{"", "?tenant=acme"} {
		require.Contains(t, b.see(ops, "/redeliveries"+all, http.StatusOK), `">acme / hris</a>`, all)
	}
	require.Contains(t, b.see(ops, "/redeliveries?tenant=globex", http.StatusOK), "There are no redeliveries.")
	require.Contains(t, b.see(operator, "/redeliveries", http.StatusOK), `">acme / hris</a>`)
	require.Contains(t, b.see(recruiter, "/redeliveries", http.StatusOK), "There are no redeliveries.")
	page := regexp.MustCompile(`href="/console(/redeliveries/acme/[^"]+)"`).FindStringSubmatch(b.see(ops, "/redeliveries", http.StatusOK))
	require.NotNil(t, page)
	its := regexp.MustCompile(`href="/console(/exports\?tenant=acme&amp;redelivery=[^"]+)">Its exports`).FindStringSubmatch(
		b.see(ops, page[1], http.StatusOK))
	require.NotNil(t, its)
	require.Contains(t, b.see(ops, html.UnescapeString(its[1]), http.StatusOK), "<bdi>of one redelivery</bdi>")
}

// The preview of a range says how many arrive twice, and what it leaves out.
func TestARangeSaysWhatArrivesTwiceAndWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Delivered)
	b.export("acme", uuid(2), model.Retrying)
	const preview = "/redeliveries?preview=yes&tenant=acme&integration=hris&since=2026-11-01T00:00&mode="
	b.Clock.Advance(time.Hour)
	text := b.see(ops, preview+"all", http.StatusOK)
	require.Contains(t, text, "1 export, received already: it arrives twice.")
	require.Contains(t, text, "<li>1 still being delivered, by themselves</li>")
	text = b.see(ops, preview+"failed", http.StatusOK)
	require.NotContains(t, text, "arrives twice")
	require.Contains(t, text, "<li>1 received already: choose “all” to deliver them once more</li>")
	require.NotContains(t, text, ">Redeliver it<")
}

// What is received after the preview of a range is not redelivered by it.
func TestARangeReachesWhatWasCounted(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.export("acme", uuid(1), model.Failed)
	b.Clock.Advance(time.Hour)
	text := b.see(ops, "/redeliveries?preview=yes&to=acme/hris&mode=failed&since=2026-11-01T00:00", http.StatusOK)
	asked := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`).FindAllStringSubmatch(text, -1) {
		asked.Set(field[1], html.UnescapeString(field[2]))
	}
	require.NotEmpty(t, asked.Get("until"))
	b.Clock.Advance(time.Minute)
	b.export("acme", uuid(2), model.Failed)
	w := b.send(ops, http.MethodPost, "/redeliveries", asked)
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	of, _, err := b.Runtime.Store().ListRedeliveries(t.Context(), []string{"acme"}, store.Page{})
	require.NoError(t, err)
	require.Len(t, of, 1)
	require.EqualValues(t, 1, of[0].Total)
}

// A form for a range that is refused has what was typed, and why it is refused.
func TestARefusedRangeKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	typed := url.Values{"to": {"acme/hris"}, "mode": {"all"}, "since": {"2026-11-01T00:00"}, "until": {"2026-11-01T08:15"},
		"class": {"partner_fault"}, "status": {"503"}, "rate": {"7"}, "preview": {"yes"}}
	for name, values := range map[string][]string{
		"rate": {"fast", "100000"}, "status": {"5x", "99"}, "attempts": {"many"}, "until": {"2026-10-01T08:15"},
	} {
		for _, value := range values {
			asked := maps.Clone(typed)
			asked.Set(name, value)
			w := b.send(ops, http.MethodGet, "/redeliveries?"+asked.Encode(), nil)
			require.Equal(t, 4, w.Code/100)
			text := w.Body.String()
			require.Contains(t, text, `role="alert"`)
			require.Contains(t, text, "<option selected>acme/hris</option>")
			require.Contains(t, text, `<option value="all" selected>`)
			require.Contains(t, text, `<option value="partner_fault" selected>`)
			for _, field := range []string{"since", "until", "status", "rate"} {
				require.Regexp(t, `name="`+field+`"[^>]* value="`+asked.Get(field)+`"`, text)
			}
			asked.Set("tenant", "acme")
			asked.Set("integration", "hris")
			w = b.send(ops, http.MethodPost, "/redeliveries", asked)
			require.Equal(t, 4, w.Code/100)
			require.Regexp(t, `name="`+name+`"[^>]* value="`+value+`"`, w.Body.String())
		}
	}
}
