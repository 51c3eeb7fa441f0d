package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/retention"
)

// needSource finds what of one kind needs a person, in all tenants.
type needSource func(r *Runtime, ctx context.Context, now time.Time) ([]model.Need, error)

// needSources are all of them, the most urgent first. What an integration needs is found by Standing.Need.
var needSources = []needSource{damaged, unwritable, unstorable, foreignNamespace, failingWorkflows, unreadable, unreadableDocuments, faulty, lateDocuments,
	unaddressed,
	undispatched, refused, endingSecrets, expiringKeys, unservedHelpers, unentered, announcedErasures, quarantined, disabledSubscriptions, untoldApplications,
	hangingLoops, awayUpstreams, undeliveredSubmissions}

// Needs returns what needs a person, apart from what single integrations need. Where the database is damaged, what can't
// be read of it is left out.
func (r *Runtime) Needs(ctx context.Context, now time.Time) ([]model.Need, error) {
	var all []model.Need
	for _, find := range needSources {
		needs, err := find(r, ctx, now)
		if err != nil && r.Damage().Since.IsZero() {
			return nil, err
		}
		slices.SortStableFunc(needs, func(a, b model.Need) int { return strings.Compare(a.Tenant, b.Tenant) })
		all = append(all, needs...)
	}
	return all, nil
}

// unwritable finds that the database can be read, and not written.
func unwritable(r *Runtime, _ context.Context, _ time.Time) ([]model.Need, error) {
	fault := r.unwritable.Load()
	if fault == nil {
		return nil, nil
	}
	return []model.Need{{Kind: model.NeedUnwritable, Since: fault.since, Sentence: "the database can't be written since " +
		fault.since.UTC().Format(time.RFC3339) + ", and exports are refused: " + fault.Error(), Action: "hiregate healthcheck"}}, nil
}

// unstorable finds that documents can't be stored.
func unstorable(r *Runtime, _ context.Context, _ time.Time) ([]model.Need, error) {
	since, err := r.Archive.Storable()
	if err == nil {
		return nil, nil
	}
	return []model.Need{{Kind: model.NeedUnstorable, Since: since, Sentence: "documents can't be stored since " +
		since.UTC().Format(time.RFC3339) + ", and are lost when their URLs end: " + err.Error(), Action: "hiregate healthcheck"}}, nil
}

// foreignNamespace finds that the namespace of Temporal belongs to another database.
func foreignNamespace(r *Runtime, _ context.Context, _ time.Time) ([]model.Need, error) {
	fault := r.barrier.reason.Load()
	if fault == nil || !errors.Is(fault, errForeign) {
		return nil, nil
	}
	return []model.Need{{Kind: model.NeedForeign, Sentence: "nothing is delivered: " + fault.Reason,
		Action: "hiregate healthcheck"}}, nil
}

// failingWorkflows finds that the code of workflows failed lately on this gateway.
func failingWorkflows(r *Runtime, _ context.Context, now time.Time) ([]model.Need, error) {
	var said []string
	var since time.Time
	for _, fault := range r.faults.Lately(now) {
		said = append(said, fault.String())
		if since.IsZero() || fault.Since.Before(since) {
			since = fault.Since
		}
	}
	if len(said) == 0 {
		return nil, nil
	}
	return []model.Need{{Kind: model.NeedFaults, Since: since, Sentence: fmt.Sprintf("workflows fail on this gateway since %s: %s; "+
		"their exports go on in others. During an upgrade finish it; otherwise go back to the version before, and report what the log says",
		since.UTC().Format(time.RFC3339), strings.Join(said, ", ")), Action: "hiregate export list --undelivered"}}, nil
}

// temporalLate is after which time an export that waits for Temporal needs a person.
const temporalLate = time.Minute

// undispatched finds exports that wait for Temporal.
func undispatched(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	waiting, err := r.Store().OldestWaiting(ctx)
	for tenant, since := range waiting {
		if now.Sub(since) <= temporalLate {
			continue
		}
		need := model.Need{Kind: model.NeedUndispatched, Tenant: tenant, Since: since, Action: "hiregate healthcheck"}
		need.Sentence = fmt.Sprintf("%s: exports wait for Temporal since %s; see whether it runs", tenant,
			since.UTC().Format(time.RFC3339))
		if _, known := r.InForce.Current().Tenant(tenant); !known {
			need.Sentence = fmt.Sprintf("%s: exports wait since %s: the tenant is not in this gateway's configuration", tenant,
				since.UTC().Format(time.RFC3339))
			need.Action = "hiregate export list --undelivered --tenant " + tenant
		}
		needs = append(needs, need)
	}
	return needs, err
}

// quarantined finds exports in quarantine.
func quarantined(r *Runtime, ctx context.Context, _ time.Time) (needs []model.Need, err error) {
	counts, err := r.Store().CountQuarantined(ctx)
	for tenant, found := range counts {
		needs = append(needs, model.Need{Kind: model.NeedQuarantine, Tenant: tenant, Since: found.Since, Count: found.Count,
			Sentence: fmt.Sprintf("%s: exports in quarantine, since they break the schema: %d", tenant, found.Count),
			Action:   "hiregate export list --quarantined --tenant " + tenant})
	}
	return needs, err
}

// refused finds tenants whose service sent exports in the last day that were refused, although it signed them right. What
// strangers send raises no need.
func refused(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	all, err := r.Store().ListRemarks(ctx, model.ExportRefused, "", now)
	for _, of := range byTenant(all) {
		need := model.Need{Kind: model.NeedRefused, Tenant: of[0].Tenant, Since: of[0].First,
			Action: "hiregate tenant show " + of[0].Tenant}
		last := of[0]
		for _, m := range of {
			need.Count += m.Count
			if m.First.Before(need.Since) {
				need.Since = m.First
			}
			if m.Last.After(last.Last) {
				last = m
			}
		}
		why := last.Name + ": " + last.Rule
		if last.Pointer != "" {
			why += " at " + last.Pointer
		}
		need.Sentence = fmt.Sprintf("%s: exports that its service signed right are refused since %s: %d, the last one at %s "+
			"(%s); have them sent again once that is mended", need.Tenant, need.Since.UTC().Format(time.RFC3339), need.Count,
			last.Last.UTC().Format(time.RFC3339), why)
		needs = append(needs, need)
	}
	return needs, err
}

// disabledSubscriptions finds systems of a tenant's service that are not told any more what changes.
func disabledSubscriptions(r *Runtime, ctx context.Context, _ time.Time) (needs []model.Need, err error) {
	all, err := r.Store().ListDisabledSubscriptions(ctx)
	for _, s := range all {
		why := ""
		if s.Reason != "" {
			why = " (" + s.Reason + ")"
		}
		needs = append(needs, model.Need{Kind: model.NeedSubscription, Tenant: s.Tenant, Since: s.UpdatedAt,
			Sentence: fmt.Sprintf("%s: the subscription %s to events is disabled since %s%s: enable it, or remove it", s.Tenant, s.ID,
				s.UpdatedAt.UTC().Format(time.RFC3339), why),
			Action: fmt.Sprintf("hiregate subscription show %s/%s", s.Tenant, s.ID)})
	}
	return needs, err
}

// untoldAfter is how often an application is told in vain that a session has ended before a person should know.
const untoldAfter = 4

// untoldApplications finds applications that don't hear that sessions have ended.
func untoldApplications(r *Runtime, ctx context.Context, _ time.Time) (needs []model.Need, err error) {
	counts, err := r.Store().FailingLogouts(ctx, untoldAfter)
	for _, client := range slices.Sorted(maps.Keys(counts)) {
		found := counts[client]
		since := found.Since.UTC().Format(time.RFC3339)
		needs = append(needs, model.Need{Kind: model.NeedLogouts, Since: found.Since, Count: found.Count,
			Sentence: fmt.Sprintf("%s: the application does not take that sessions have ended, since %s: %d; see whether it answers at its "+
				"back-channel logout URI, or change that; each is told for a day", client, since, found.Count),
			Action: "hiregate oauth-client show " + client})
	}
	return needs, err
}

// byTenant splits remarks, which are in the order of tenants.
func byTenant(all []model.Remark) (split [][]model.Remark) {
	for n := range all {
		if n == 0 || all[n].Tenant != all[n-1].Tenant {
			split = append(split, nil)
		}
		split[len(split)-1] = append(split[len(split)-1], all[n])
	}
	return split
}

// unreadable finds exports that were found in the last day to be damaged in the store.
func unreadable(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	counts, err := r.Store().CountUnreadable(ctx, now.Add(-24*time.Hour))
	for tenant, found := range counts {
		needs = append(needs, model.Need{Kind: model.NeedUnreadable, Tenant: tenant, Since: found.Since, Count: found.Count,
			Sentence: fmt.Sprintf("%s: exports that can't be read in the database, found in the last day: %d; restore it from a "+
				"backup and redeliver them, or have their candidates exported again", tenant, found.Count),
			Action: "hiregate export list --outcome failed --class our_fault --tenant " + tenant})
	}
	return needs, err
}

// lateFor is for how long documents are late before they need a person: until then most of them come by themselves.
const lateFor = 15 * time.Minute

// lateDocuments finds documents that could not be fetched so far, and are lost when their URLs end.
func lateDocuments(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	of, _, err := r.Store().ListUnfetched(ctx, "")
	for tenant, u := range of {
		if u.Late == 0 || now.Sub(u.Since) < lateFor {
			continue
		}
		needs = append(needs, model.Need{Kind: model.NeedLate, Tenant: tenant, Since: u.Since, Count: u.Late, LostAt: u.LostAt,
			Sentence: fmt.Sprintf("%s: documents that could not be fetched so far: %d; the first one is lost at %s: see who is at "+
				"fault, and tell the service until when it can mend that", tenant, u.Late, u.LostAt.UTC().Format(time.RFC3339)),
			Action: "hiregate export list --late-documents --tenant " + tenant})
	}
	return needs, err
}

// unreadableDocuments finds documents that this gateway was asked for in the last day and could not read.
func unreadableDocuments(r *Runtime, _ context.Context, _ time.Time) (needs []model.Need, _ error) {
	for tenant, found := range r.Archive.CountUnreadable() {
		needs = append(needs, model.Need{Kind: model.NeedDocuments, Tenant: tenant, Since: found.Since,
			Sentence: fmt.Sprintf("%s: stored documents that are damaged or gone, and are not served: %d; restore the document "+
				"store, or the database, from a backup; the log names them", tenant, found.Count),
			Action: "hiregate healthcheck"})
	}
	return needs, nil
}

// faultyFor is for how long a triggered export is named as faulty after its end.
const faultyFor = 24 * time.Hour

// faulty finds exports that go nowhere: Temporal refused their workflow, or nobody was there to get them. One that was
// triggered here is named for a day after its end; nothing but another export helps then.
func faulty(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	counts, err := r.Store().CountFaulty(ctx, now.Add(-faultyFor))
	for tenant, found := range counts {
		needs = append(needs, model.Need{Kind: model.NeedFaulty, Tenant: tenant, Since: found.Since, Count: found.Count,
			Sentence: fmt.Sprintf("%s: exports that go nowhere, each for the reason that its page says: %d", tenant, found.Count),
			Action:   "hiregate export list --undelivered --tenant " + tenant})
	}
	return needs, err
}

// unentered finds job applications that could not enter their first step.
func unentered(r *Runtime, ctx context.Context, _ time.Time) (needs []model.Need, err error) {
	counts, err := r.Store().CountUnentered(ctx)
	for tenant, found := range counts {
		needs = append(needs, model.Need{Kind: model.NeedUnentered, Tenant: tenant, Since: found.Since, Count: found.Count,
			Sentence: fmt.Sprintf("%s: job applications that could not enter the first step, each for the reason that it shows: %d; "+
				"move them, or end them", tenant, found.Count),
			Action: fmt.Sprintf("hiregate application list %s --state unentered", tenant)})
	}
	return needs, err
}

// announcedErasures finds job applications that a new or shorter retention is about to erase.
func announcedErasures(r *Runtime, ctx context.Context, now time.Time) (needs []model.Need, err error) {
	all, err := r.Store().ListApplicationRetentions(ctx)
	for _, of := range all { // the last one of a tenant has the number
		if of.Announced == 0 {
			continue
		}
		var at, since time.Time
		for _, one := range all {
			if one.Tenant == of.Tenant && one.EffectiveAt.After(at) {
				at = one.EffectiveAt
			}
		}
		if since = at.Add(-retention.Notice); !at.After(now) {
			continue
		}
		before := at.Add(time.Second).UTC().Format(time.RFC3339)
		needs = append(needs, model.Need{Kind: model.NeedErasure, Tenant: of.Tenant, Since: since, Count: of.Announced,
			Sentence: fmt.Sprintf("%s: a new or shorter retention erases job applications at %s: %d; look at them, note who agreed "+
				"to be kept (application keep), or set a longer one", of.Tenant, at.UTC().Format(time.RFC3339), of.Announced),
			Action: fmt.Sprintf("hiregate application list %s --count --erased-before %s", of.Tenant, before)})
	}
	return needs, err
}

// unaddressed finds exports that were delivered to nobody, since their tenant had no integration.
func unaddressed(r *Runtime, ctx context.Context, _ time.Time) (needs []model.Need, err error) {
	counts, err := r.Store().CountUnaddressed(ctx)
	for tenant, found := range counts {
		need := model.Need{Kind: model.NeedUnaddressed, Tenant: tenant, Since: found.Since, Count: found.Count,
			Action: "hiregate export list --outcome failed --tenant " + tenant}
		need.Sentence = fmt.Sprintf("%s: exports were not delivered, because it had no integration when they came: %d; add one, then "+
			"redeliver them", tenant, found.Count)
		if t, ok := r.InForce.Current().Tenant(tenant); ok && len(t.Integrations) > 0 {
			need.Sentence = fmt.Sprintf("%s: exports were not delivered, because it had no integration when they came: %d; redeliver "+
				"them to the one that it has now", tenant, found.Count)
			need.Action = fmt.Sprintf("hiregate export redeliver --tenant %s --integration %s --since %s --mode missing", tenant,
				t.Integrations[0].Name, found.Since.UTC().Format(time.RFC3339))
		}
		needs = append(needs, need)
	}
	return needs, err
}
