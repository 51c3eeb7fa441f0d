package model

import "time"

// NeedKind is the fixed word for what a person has to look at.
type NeedKind string

// The kinds of needs. The first ones are of an integration, the others of all exports of a tenant.
const (
	NeedUnknown       NeedKind = "integration_unknown" // exports wait for it, and it is not in the configuration
	NeedFailing       NeedKind = "integration_failing"
	NeedRefusing      NeedKind = "integration_refusing" // it refuses what it gets for its data
	NeedNotConfigured NeedKind = "integration_not_configured"
	NeedDisabled      NeedKind = "integration_disabled" // and exports wait for it
	NeedOverdue       NeedKind = "exports_overdue"      // they wait for longer than their next step says
	NeedUndelivered   NeedKind = "exports_undelivered"  // for long, whatever they wait for
	NeedCertificate   NeedKind = "certificate_ending"   // the one that is shown to the integration ends soon, or has ended
	NeedQuarantine    NeedKind = "exports_quarantined"
	NeedUndispatched  NeedKind = "exports_undispatched"    // they wait for Temporal
	NeedRefused       NeedKind = "exports_refused"         // although they were signed right
	NeedFaulty        NeedKind = "exports_faulty"          // they go nowhere
	NeedUnaddressed   NeedKind = "exports_unaddressed"     // they were delivered to nobody: their tenant had no integration
	NeedHelper        NeedKind = "helper_unserved"         // the helper of a step names an integration that is not there
	NeedUnentered     NeedKind = "applications_unentered"  // they could not enter their first step
	NeedErasure       NeedKind = "applications_erasing"    // a new or shorter retention erases them in a week
	NeedUnreadable    NeedKind = "exports_unreadable"      // what is stored of them is damaged
	NeedFaults        NeedKind = "workflows_failing"       // their code does, on this gateway; it concerns all tenants
	NeedForeign       NeedKind = "namespace_foreign"       // of Temporal; it concerns all tenants
	NeedUnwritable    NeedKind = "database_unwritable"     // it can be read, and exports are refused; it concerns all tenants
	NeedUnstorable    NeedKind = "documents_unstorable"    // it concerns all tenants
	NeedDocuments     NeedKind = "documents_unreadable"    // what is stored of them is damaged or gone
	NeedLate          NeedKind = "documents_late"          // they were tried in vain, and are lost when their URLs end
	NeedLoop          NeedKind = "loop_hanging"            // of the background work of this gateway; it concerns all tenants
	NeedSubscription  NeedKind = "subscription_disabled"   // the service's own system is not told what changes
	NeedSecret        NeedKind = "secret_ending"           // an inbound secret that is still used ends soon
	NeedAPIKey        NeedKind = "api_key_expiring"        // one that is used does soon
	NeedLogouts       NeedKind = "logouts_untold"          // an application does not take that sessions have ended
	NeedUpstream      NeedKind = "upstream_away"           // the service refuses submissions, or is away
	NeedSubmissions   NeedKind = "submissions_undelivered" // the service refused them, or was away for too long
	NeedDamaged       NeedKind = "database_damaged"        // it said so; it concerns all tenants
)

// Need is something that a person has to look at.
type Need struct {
	Kind        NeedKind   `json:"kind"`
	Tenant      string     `json:"tenant,omitempty"`      // empty: it concerns all tenants
	Integration string     `json:"integration,omitempty"` // empty: it concerns no integration
	Since       time.Time  `json:"since,omitzero"`        // zero: it is not known
	Count       int64      `json:"count,omitzero"`        // of the exports that it concerns
	LostAt      time.Time  `json:"lostAt,omitzero"`       // when the first of them is given up; zero: not known, or never
	Sentence    string     `json:"sentence"`              // for people; it begins with the integration or the tenant
	Action      string     `json:"action"`                // the command that shows more, or helps
	Cause       *NeedCause `json:"cause,omitempty"`       // why the integration takes nothing; absent: it was not asked for
}
