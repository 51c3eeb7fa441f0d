package model

import "strings"

// Reason is a sentence that says why something is as it is, taken apart: readers of other languages word it from the
// code. Sentences are stored in English.
type Reason struct {
	Code   string            `json:"code"`             // which sentence it is
	Params map[string]string `json:"params,omitempty"` // the parts of the sentence that vary, by their names
	Cause  *Reason           `json:"cause,omitempty"`  // the parameter cause taken apart, where that is a sentence as well
}

// Reasons are the sentences that have a code, with the names of what varies. The first one that fits counts.
var Reasons = []struct{ Code, Sentence string }{
	// what needs a person
	{"need_waiting", "{cause}; exports wait for it: {n}"},
	{"need_failing", "{integration}: it is failing, {n} times in a row: {cause}"},
	{"need_not_verified", "{integration}: it is not verified: {cause}"},
	{"need_disabled", "{integration}: it is disabled: {cause}"},
	{"need_overdue", "{integration}: the next attempt of some of its exports should have been made by now; they go on by themselves " +
		"where the gateway is busy: see what they wait for if they stay"},
	{"need_undelivered", "{integration}: some of its exports wait for more than an hour"},
	{"need_certificate", "{integration}: its client certificate ends at {at}: renew it in tls of the integration's authentication"},
	{"need_unwritable", "the database can't be written since {since}, and exports are refused: {detail}"},
	{"need_unstorable", "documents can't be stored since {since}, and are lost when their URLs end: {detail}"},
	{"need_foreign", "nothing is delivered: {detail}"},
	{"need_faults", "workflows fail on this gateway since {since}: {detail}; their exports go on in others. During an upgrade finish it; " +
		"otherwise go back to the version before, and report what the log says"},
	{"need_loop", "the loop {loop} of this gateway's background work, which comes round every {every}, hangs since {since}: restart " +
		"the gateway, and report what its log says of this loop"},
	{"need_damage", "the database is damaged: {detail}; stop the gateway and put a backup in its place"},
	{"need_damage_said", "the database said that it is damaged: {detail}; look at its disk and its log. This ends after an hour without " +
		"such an error"},
	{"need_undispatched", "{tenant}: exports wait for Temporal since {since}; see whether it runs"},
	{"need_unconfigured", "{tenant}: exports wait since {since}: the tenant is not in this gateway's configuration"},
	{"need_refused", "{tenant}: exports that its service signed right are refused since {since}: {n}, the last one at {at} ({detail}); " +
		"have them sent again once that is mended"},
	{"need_unaddressed", "{tenant}: exports were not delivered, because it had no integration when they came: {n}; add one, then " +
		"redeliver them"},
	{"need_addressed_now", "{tenant}: exports were not delivered, because it had no integration when they came: {n}; redeliver them to the " +
		"one that it has now"},
	{"need_helper", "{tenant}: the helper of step {step} exports to what is no integration of the tenant, and nobody gets that: {names}; " +
		"add the integration, or change the helper"},
	{"need_submissions_wait", "{cause}; {n} wait, and the first one fails at {at}"},
	{"need_upstream", "{tenant}: applications don't reach the service: {cause}"},
	{"need_upstream_removed", "it has no apply_upstream any more; add it again"},
	{"need_tenant_removed", "the tenant is not in this gateway's configuration; add it again"},
	{"need_submissions_end", "{cause}; {n} of them are erased within a week, the first one at {at}"},
	{"need_submissions", "{tenant}: applications that are not at the service: {n} (refused by it: {refused}, away too long: {failed}, " +
		"perhaps sent by a machine: {suspected}); send them on, or enter them there by hand"},
	{"need_key", "{tenant}: an API key expires at {at} and is used: make another one, and give it to whoever has this one"},
	{"need_key_of_all", "an API key of all tenants expires at {at} and is used: make another one, and give it to whoever has this one"},
	{"need_quarantine", "{tenant}: exports in quarantine, since they break the schema: {n}"},
	{"need_subscription", "{tenant}: the subscription {id} to events is disabled since {since}: enable it, or remove it"},
	{"need_logouts", "{client}: the application does not take that sessions have ended, since {since}: {n}; see whether it answers at " +
		"its back-channel logout URI, or change that; each is told for a day"},
	{"need_unreadable", "{tenant}: exports that can't be read in the database, found in the last day: {n}; restore it from a backup and " +
		"redeliver them, or have their candidates exported again"},
	{"need_late", "{tenant}: documents that could not be fetched so far: {n}; the first one is lost at {at}: see who is at fault, and " +
		"tell the service until when it can mend that"},
	{"need_damaged", "{tenant}: stored documents that are damaged or gone, and are not served: {n}; restore the document store, or the " +
		"database, from a backup; the log names them"},
	{"need_nowhere", "{tenant}: exports that go nowhere, each for the reason that its page says: {n}"},
	{"need_unentered", "{tenant}: job applications that could not enter the first step, each for the reason that it shows: {n}; move " +
		"them, or end them"},
	{"need_retention", "{tenant}: a new or shorter retention erases job applications at {at}: {n}; look at them, note who agreed to be " +
		"kept (application keep), or set a longer one"},
	{"need_secret_ends", "{tenant}: its service still signs with secret {n}, which ends at {at}: have it sign with another one, or let this " +
		"one go on"},

	// attempts
	{"gone", "answered 410: the partner wants no more exports here"},
	{"credentials_refused", "answered {status}: it does not accept the signature or the credentials; check the " +
		"integration's secret and authentication"},
	{"token_unreachable", "token endpoint could not be asked: {cause}"},
	{"token_client", "token endpoint answered {status}: check client_id and client_secret"},
	{"token_scope", "token endpoint answered {status}: check scope"},
	{"token_refused", "token endpoint answered {status}: check token_url, and ask those who run it"},
	{"token_timeout", "token endpoint did not answer in time ({most} at most): ask those who run it"},
	{"token_none", "token endpoint gave an answer that has no token: check token_url"},
	{"answered", "answered {status}; only 2xx means received"},
	{"egress_refused", "nothing was sent to {host}: {detail}"},
	{"host_unknown", "the host name of {host} could not be resolved ({detail}): check the spelling in the URL and its DNS " +
		"records"},
	{"no_connection", "no connection to {host} could be made ({detail}): check that it runs and is open to us"},
	{"certificate_refused", "the TLS handshake with {host} failed ({detail}): it does not accept the certificate that it " +
		"is shown: check tls of the integration's authentication"},
	{"tls_authority", "the certificate of {host} is of an authority that is not known here: have the certificates in between " +
		"sent along, or give the authority in tls of the integration's authentication"},
	{"tls_name", "the certificate of {host} is for other names ({names}): write the URL with one that it has"},
	{"tls_expired", "the certificate of {host} ended on {date}: have it renewed"},
	{"tls_failed", "the TLS handshake with {host} failed ({detail}): check its certificate"},
	{"timeout", "{host} did not answer in time ({most} at most): it should acknowledge first and work afterwards"},
	{"closed", "{host} closed the connection before it answered: look into its log"},
	{"no_http", "{host} gave an answer that is not HTTP: check that the URL leads to an HTTP server"},
	{"not_sent", "nothing was sent: {detail}"},

	// deliveries
	{"time_over", "its time was over before its turn came: the gateway, Temporal or the integration was down, or had too " +
		"much to do; redeliver it"},
	{"time_over_here", "its time was over before its turn came: the gateway, Temporal or the integration was down, or had " +
		"too much to do; export the candidate again"},
	{"workflow_ended", "its workflow was terminated or cancelled in Temporal; it can be redelivered"},
	{"workflow_lost", "Temporal has lost its workflow, as after it was emptied or an older backup of it was restored: it " +
		"goes on in another one in a moment"},
	{"documents_awaited", "it waits for its documents, until {until} at the latest: {here} of {of} are here"},
	{"breaker_open", "integration {integration} has failed since {since}; next probe {probe}: {cause}"},
	{"in_turn", "integration {integration} has failed since {since}; the next attempt is made in its turn: {cause}"},
	{"over_rate", "integration {integration} gets {rate} at most: it waits for its turn"},
	{"full", "integration {integration} has as many attempts under way as it takes, {most}: it waits for its turn"},
	{"configured_again", "integration {integration} is configured again: it goes out in a moment"},
	{"first_attempt", "its first attempt is made in a moment, or under way"},
	{"quarantined", "the export is in quarantine, because its body breaks the schema: release it with hiregate export " +
		"release {export}"},
	{"integration_unknown", "integration {integration} is not in this gateway's configuration"},
	{"integration_removed", "integration {integration} was removed"},
	{"integration_disabled", "integration {integration} is {state}: {cause}; hiregate integration enable {name} delivers " +
		"what is held, and hiregate audit list says who disabled it and when"},
	{"integration_not_verified", "integration {integration} is not verified: {cause}; hiregate integration enable {name} has it " +
		"verified now"},
	{"integration_closed", "integration {integration} is {state}: {cause}; hiregate integration enable {name} has it " +
		"verified again"},
	{"tenant_unknown", "it waits for its tenant, which is not in this gateway's configuration"},
	{"temporal_away", "it waits for Temporal, which does not answer, and goes out once that is back"},
	{"temporal_barred", "it waits for Temporal: {detail}"},
	{"temporal_starts", "it waits for Temporal to start its workflow, which happens in a moment"},
	{"no_integration", NoIntegration},
	{"unreadable", "what is stored of this export can't be read: {detail}"},
	{"erased", "what the export held was erased, as somebody asked"},

	// integrations
	{"rate_used_up", "it gets {rate} at most: its exports wait for their turn"},
	{"refusing", "refuses what it gets since {since}: {refused} of {attempts} answered {status}"},
	{"never_received", "nothing was received yet: the last attempt was answered {status}"},
	{"never_reached", "nothing was received yet: {cause}"},
	{"nothing_sent", "verified, nothing sent yet"},
	{"trusted_nothing_sent", "verify off: it is trusted without VERIFY; nothing sent yet"},
	{"trusted", "verify off: it is trusted without VERIFY"},
	{"former_secret", "exports are signed with its former secret until VERIFY is answered 200 with the new one: {cause}"},
	{"verify_path_doubled", "VERIFY was answered {status}, and the URL's path has a doubled slash: leave one of the two out"},
	{"verify_redirected", "VERIFY was answered {status}, which leads to {to}: redirects are not followed; often that is a " +
		"login page, which has to let this URL through"},
	{"verify_wants_scheme", "VERIFY was answered {status}: it asks for the authentication scheme {scheme}; give or correct it " +
		"in the integration's authentication"},
	{"verify_credentials", "VERIFY was answered {status}: it does not accept the signature or the credentials; check the " +
		"integration's secret and authentication"},
	{"verify_answered", "VERIFY was answered {status}; it must be exactly 200"},
	{"verify_not_sent", "VERIFY was not sent yet"},
	{"verify_due", "it was enabled; VERIFY was not sent since"},
	{"integration_damaged", "what is stored of its address and secrets is damaged: save it again with all of them " +
		"(hiregate integration set), or restore the database from a backup"},
	{"disabled_because", "an operator disabled it, because: {why}"},
	{"disabled", "an operator disabled it"},
	{"answered_gone", "it answered 410"},
	{"removed", "it was removed"},
	{"not_configured_here", "it is not in this gateway's configuration; what waits for it goes out once it is there again"},

	// attempts that somebody asked for
	{"retry_stopped", "{cause}; the other {left} keep their next attempts"},
	{"retry_stopped_before_one", "{cause}; the other one keeps its next attempt"},
	{"oldest_answered", "the oldest was answered {status}"},
	{"oldest_not_received", "the oldest was not received: {cause}"},
	{"one_answered", "one was answered {status}"},
	{"one_not_received", "one was not received: {cause}"},

	// documents
	{"document_url", "the document's URL is no http or https URL: its service has to send another one"},
	{"document_url_ended", "the document's URL ended before the gateway could fetch it: have the candidate exported again"},
	{"document_refused", "nothing was fetched from {host}, because egress refuses its address: if it is to be reached, " +
		"allow it with egress allow"},
	{"document_too_large", "the document at {host} is larger than {most} MiB and was not stored: ask for a smaller file"},
	{"document_empty", "{host} answered with a document that has no bytes: look at the file at its service, and have the " +
		"candidate exported again"},
	{"document_redirected", "{host} answered {status}, and redirects are not followed: its service has to send the " +
		"address that has the document"},
	{"document_gone", "{host} answered {status} instead of the document: the URL is wrong or has ended; have the " +
		"candidate exported again"},
	{"document_answered", "{host} answered {status} instead of the document: ask those who run it, if that does not pass"},
	{"document_timeout", "{host} did not send the whole document in time: look whether it answers, and how slow it is"},
	{"document_interrupted", "the gateway stopped while it fetched the document from {host}: it is fetched again"},
	{"document_no_connection", "the connection to {host} failed or broke off: look whether it can be reached from the " +
		"gateway"},
	{"document_encoding", "{host} sent the document with a Content-Encoding that the gateway can't read: it has to send " +
		"it as it is, or with gzip"},
	{"document_not_stored", "the document from {host} could not be stored: look into the gateway's log, and at the space " +
		"on its disk"},
	{"document_harmful", "a scanner found something harmful in it"},
	{"document_deleted", "it was deleted before it was scanned"},
}

// ParseReason takes a sentence apart; nil: it is none of Reasons.
func ParseReason(sentence string) *Reason {
	if sentence == "" {
		return nil
	}
	for _, known := range Reasons {
		params, ok := matchReason(known.Sentence, sentence)
		if !ok {
			continue
		}
		return &Reason{Code: known.Code, Params: params, Cause: ParseReason(params["cause"])}
	}
	return nil
}

// matchReason reports whether a sentence is made of a pattern, and returns what is in the place of its names.
func matchReason(pattern, sentence string) (params map[string]string, ok bool) {
	for {
		literal, rest, varies := strings.Cut(pattern, "{")
		if sentence, ok = strings.CutPrefix(sentence, literal); !ok {
			return nil, false
		}
		if !varies {
			return params, sentence == ""
		}
		name, after, _ := strings.Cut(rest, "}")
		next, _, more := strings.Cut(after, "{")
		end := len(sentence)
		switch {
		case more:
			end = strings.Index(sentence, next)
		case next != "":
			end = strings.LastIndex(sentence, next)
		}
		if end <= 0 {
			return nil, false
		}
		if params == nil {
			params = map[string]string{}
		}
		params[name], sentence, pattern = sentence[:end], sentence[end:], after
	}
}
