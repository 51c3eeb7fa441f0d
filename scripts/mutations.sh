#!/usr/bin/env bash
# Usage: mutations.sh [NAME…]
# Applies each mutation below in a copy of the tree, to sign-in or to what delivers exports, and runs the tests: at least one
# has to fail, of what delivers exports the random schedules alone. Names choose
# some of the mutations. Exits with 1 when no test failed, or when the code that a mutation replaces is no longer there.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | tar --null --ignore-failed-read --files-from=- --create --file=- 2>/dev/null | tar --extract --directory="$copy"

wanted=" $* "
total=0 unnoticed=0

# mutate NAME PACKAGES FILE OLD NEW replaces OLD, which stands once in FILE, and tests PACKAGES.
mutate() {
	local name=$1 packages=$2 file=$copy/$3 old=$4 new=$5 text rest out failed
	[[ $wanted == "  " || $wanted == *" $name "* ]] || return 0
	total=$((total + 1))
	text=$(<"$file")
	rest=${text#*"$old"}
	if [[ $rest == "$text" || $rest == *"$old"* ]]; then
		printf '%-24s is no break any more: its text does not stand once in %s\n' "$name" "$3"
		unnoticed=$((unnoticed + 1))
		return 0
	fi
	cp "$file" "$copy/whole"
	printf '%s\n' "${text/"$old"/"$new"}" >"$file"
	# shellcheck disable=SC2086 # packages are words
	if out=$(cd "$copy" && go vet $packages 2>&1) && out=$(cd "$copy" && go test $packages 2>&1); then
		printf '%-24s NOT NOTICED\n' "$name"
		unnoticed=$((unnoticed + 1))
	elif failed=$(grep -oE '^ *--- FAIL: \S+' <<<"$out"); then
		printf '%-24s noticed by %s\n' "$name" "$(head -n 1 <<<"${failed//*--- FAIL: /}")"
	else
		printf '%-24s does not build:\n%s\n' "$name" "$out"
		unnoticed=$((unnoticed + 1))
	fi
	mv "$copy/whole" "$file"
}

signin=./modules/signin
both="./modules/signin ./internal/store/access"
schedules=./internal/schedules

mutate plain-pkce "$signin" modules/signin/request.go 'case method != "S256":' 'case method != "S256" && method != "plain":'
mutate any-redirect "$signin" modules/signin/request.go 'case !slices.Contains(c.RedirectURIs, redirectURI):' 'case false:'
mutate redirect-not-compared "$both" internal/store/access/grants.go ' AND redirect_uri = $6' " AND \$6 <> ''"
mutate two-winners "$both" internal/store/access/grants.go 'code_till > $1 AND consumed_at IS NULL' 'code_till > $1'
mutate replay-revokes-nothing "$both" internal/store/access/grants.go 'WHERE code = $2 AND consumed_at IS NOT NULL' 'WHERE code = $2 AND 1 = 0'
mutate code-without-end "$both" internal/store/access/grants.go 'AND code_till > $1 ' ''
mutate no-no-store "$signin" modules/signin/problem.go $'h.Set("Cache-Control", "no-store")\n\t\th.Set("Pragma"' $'h.Set("Cache-Control", "private")\n\t\th.Set("Pragma"'
mutate no-challenge "$signin" internal/problem/problem.go 'w.Header().Set("WWW-Authenticate"' 'w.Header().Set("X-Authenticate"'
mutate token-by-get "$signin" modules/signin/signin.go 'p.handle(tokenPath, post, p.token)' 'p.handle(tokenPath, both, p.token)'
mutate basic-not-decoded "$signin" modules/signin/client.go 'secret, err2 := url.QueryUnescape(pass)' 'secret, err2 := pass, error(nil)'
mutate any-secret "$signin" modules/signin/client.go 'if good == 0 {' 'if len(hashes) == 0 {'
mutate request-ignored "$signin" modules/signin/request.go '[]string{"request", "request_uri", "registration"}' '[]string{"registration"}'
mutate state-dropped "$signin" modules/signin/redirect.go 'answer.Set("state", a.state)' 'answer.Set("state", "")'
mutate forms-from-anywhere "$signin" modules/signin/form.go 'if p.guard.Check(r) != nil {' 'if p.guard.Check(r) != nil && r.Method == http.MethodGet {'
mutate any-nonce "$signin" modules/signin/idtoken.go 'claims["nonce"] = nonce' 'claims["nonce"] = ""'
mutate session-everywhere "$both" internal/store/access/sessions.go ' AND s.issuer = $2' " AND \$2 <> ''"
mutate no-second-factor "$signin" modules/signin/factor.go 'if !u.TOTPRequired {' 'if true {'
mutate factor-used-again "$both" internal/store/access/factors.go ' AND totp_step < $2' ' AND totp_step <> -$2'
mutate any-clock "$signin" modules/signin/totp.go 'totpSkew   = 1' 'totpSkew   = 5'
mutate ticket-without-end "$signin" modules/signin/factor.go 'p.now().Sub(k.At) > k.life()' 'p.now().Sub(k.At) > 24*time.Hour'
mutate ticket-of-any-password "$signin" modules/signin/factor.go 'passwordStamp(u) == k.Password' 'true'
mutate guessing-unbounded "$signin" modules/signin/factor.go 'if wait > 0 {' 'if wait > time.Hour {'
mutate guessing-from-anywhere "$signin" modules/signin/factor.go 'p.Failures.TryCode(' 'p.Failures.Try('
mutate consent-of-anybody "$signin" modules/signin/consent.go ' || s.Hash != ticket.Session' ''
mutate consent-without-claims "$signin" modules/signin/consent.go '!covers(had, a.consentScope())' '!covers(had, a.scope)'
mutate tickets-of-any-kind "$signin" modules/signin/purposes.go '"hiregate tickets of who signs in upstream"' 'forFactor'
mutate any-upstream-state "$signin" modules/signin/upstream_visit.go 'subtle.ConstantTimeCompare([]byte(state), []byte(v.State)) == 0' 'subtle.ConstantTimeCompare([]byte(state), []byte(v.State)) == 2'
mutate any-upstream-nonce "$signin" internal/oidcclient/account.go '[]byte(nonce)) == 0:' '[]byte(nonce)) == 2:'
mutate any-upstream-issuer "$signin" internal/oidcclient/account.go 'iss != p.Issuer' 'iss == "none"'
mutate no-upstream-issuer "$signin" internal/oidcclient/account.go '(iss != "" || found.SendsIssuer)' 'iss != ""'
mutate account-of-nobody "$signin" internal/oidcclient/account.go 'token.Subject == "" || ' ''
mutate token-of-another-client "$signin" internal/oidcclient/account.go 'c.text("azp") != p.ClientID' 'c.text("azp") == ""'
mutate address-that-looks-alike "$signin" modules/signin/upstream_account.go ' || !identity.SameAddress(u.Email, account.Email)' ''
mutate unverified-address "$signin" modules/signin/upstream_account.go 'if !account.EmailVerified || ' 'if '
mutate account-of-another-company "$signin" modules/signin/upstream_account.go ' || theirs != nil && theirs != up {' ' || theirs == nil && theirs == up {'
mutate account-of-a-disabled "$signin" modules/signin/upstream_account.go '; !u.DisabledAt.IsZero() || theirs' '; u.DisabledAt.After(p.now()) || theirs'
mutate not-accepted "$schedules" internal/inbox/inbox.go 'fresh, err := tx.InsertExport(e)' 'fresh, err := true, error(nil)'
mutate no-sweep "$schedules" workflows/dispatch/sweep.go 'n, err := s.turn(ctx)' 'n, err := 0, error(nil)'
mutate lost-is-not-found "$schedules" workflows/dispatch/lost.go 'r.Now().Add(-export.UnknownAge)' 'r.Now().Add(-24*time.Hour)'
mutate received-not-stored "$schedules" internal/delivery/commit.go $'\tif next.attempt == nil { // nothing' $'\tif next.attempt != nil && d.Outcome == model.Delivered {\n\t\treturn d, nil\n\t}\n\tif next.attempt == nil { // nothing'
mutate held-for-ever "$schedules" workflows/rounds/release.go 'if err := r.release(ctx, d, hurried); err != nil {' $'_ = hurried\n\t\t\tif err := ctx.Err(); err != nil {'
mutate wakes-nobody "$schedules" workflows/dispatch/round.go 'return workflows.RunNow(ctx, d.Client, d.Namespace, e.RoundWorkflowID(of.Round), export.DeliverName)' $'_ = export.DeliverName\n\treturn nil'
mutate from-quarantine "$schedules" internal/delivery/step.go 'if e.Quarantined {' 'if false {'
mutate to-the-disabled "$schedules" internal/delivery/step.go $'if !status.Deliverable(i) {\n\t\treturn a.hold' $'if false {\n\t\treturn a.hold'
mutate other-bytes "$schedules" internal/delivery/attempt.go 'Body: body,' 'Body: append(body, 10),'
mutate former-secret "$schedules" internal/delivery/attempt.go 'Secret: i.Secret.Reveal()' 'Secret: i.FormerSecret.Reveal()'
mutate one-too-many "$schedules" internal/delivery/gates.go 'n := i.AtOnce()' 'n := i.AtOnce() + 1'
mutate strands-its-group "$schedules" internal/store/dispatch.go 'e.id = (SELECT min(e.id) FROM exports e WHERE `+memberOf+` AND e.dispatch_after <= $2)' 'e.id = $1'
mutate triggered-fails "$schedules" internal/delivery/step.go $'if !status.Deliverable(i) {\n\t\treturn a.hold' $'if !status.Deliverable(i) {\n\t\tif e.Origin == model.Triggered {\n\t\t\treturn fail(d, model.ClassOurFault, "it takes nothing"), nil\n\t\t}\n\t\treturn a.hold'
mutate to-another "$schedules" internal/trigger/trigger.go 'e.Integrations = model.Distinct(r.Integrations)' 'e.Integrations = nil'
mutate forgets-a-round "$schedules" internal/store/exports.go $'\t\te.Round++\n' ''
mutate counts-twice "$schedules" internal/store/health.go 'batch.hours[hour].Add(a.Fault, a.Duration)' 'batch.hours[hour].Add(a.Fault, a.Duration); batch.hours[hour].Add(a.Fault, a.Duration)'
mutate submission-twice "$schedules" internal/store/submissions.go "uncertain = uncertain OR lease <> ''," 'uncertain = uncertain,'

echo "$((total - unnoticed)) of $total breaks were noticed"
[[ $unnoticed == 0 ]]
