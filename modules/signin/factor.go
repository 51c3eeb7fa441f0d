package signin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// The one-time passwords are those of all authenticator apps: six digits of HMAC-SHA1, a new one each half minute (RFC
// 6238). The ones before and after the current one are valid too, because clocks differ.
const (
	totpPeriod = 30 // seconds
	totpDigits = 6
	totpSkew   = 1
	totpSecret = 20 // bytes
)

// first is how a user passed the first factor.
type first struct {
	At              time.Time
	Issuer, Subject string // of the upstream account; empty: it was the password
}

// passed is a ticket: the user has passed the first factor. The browser returns it, sealed, with the second.
type passed struct {
	User     string
	Password string // a hash of the stored password hash; another password ends the ticket
	First    first  // the ticket ends when the upstream account is removed
	Request  string // the authorization request
	At       time.Time
	Secret   []byte // of a second factor that is being set up; nil: it is set up
}

// toSetUp is how long a user may take to set up a second factor, which can include installing an app.
const toSetUp = 20 * time.Minute

func (k *passed) life() time.Duration {
	if k.Secret != nil {
		return toSetUp
	}
	return justNow
}

// admit continues after the first factor: with the second, if the user needs one.
func (p *Provider) admit(w http.ResponseWriter, r *http.Request, a *authorization, u *identity.User, f first) {
	if !u.TOTPRequired {
		p.signedIn(w, r, a, u, f)
		return
	}
	k := &passed{User: u.ID, Password: stamp(u), First: f, Request: a.raw, At: p.now()}
	if u.TOTP == nil {
		k.Secret = make([]byte, totpSecret)
		rand.Read(k.Secret)
	}
	p.factorPage(w, r, http.StatusOK, a, u, k, "")
}

func stamp(u *identity.User) string {
	sum := identity.HashSecret(u.Password)
	return hex.EncodeToString(sum[:])
}

// userOf returns the user of a ticket. ErrNotFound: there is no such user, or their upstream account was removed.
func (p *Provider) userOf(ctx context.Context, k *passed) (*identity.User, error) {
	if k.First.Subject == "" {
		return p.db().User(ctx, k.User)
	}
	u, err := p.db().UserByUpstreamAccount(ctx, k.First.Issuer, k.First.Subject)
	if err == nil && u.ID != k.User {
		err = store.ErrNotFound
	}
	return u, err
}

// factor handles the form with the one-time password.
func (p *Provider) factor(w http.ResponseWriter, r *http.Request) {
	k := new(passed)
	if !p.Vault.OpenTicket(forPassed, p.Issuer, r.PostForm.Get("ticket"), k) {
		p.untrusted(w, r)
		return
	}
	a, err := p.read(r, k.Request)
	if p.stopped(w, r, a, err) {
		return
	}
	if r.PostForm.Get("action") == "cancel" {
		p.refuse(w, r, a, "access_denied", "the user does not want to sign in")
		return
	}
	u, err := p.userOf(r.Context(), k)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		p.brokenPage(w, r, err)
		return
	}
	if err != nil || !u.DisabledAt.IsZero() || !u.TOTPRequired || (u.TOTP == nil) != (k.Secret != nil) ||
		stamp(u) != k.Password {
		p.signInPage(w, r, http.StatusOK, a, signInForm{Email: a.loginHint}) // start again
		return
	}
	if p.now().Sub(k.At) > k.life() {
		p.tooLate(w, r, a)
		return
	}
	t := textsFor(a.locales, r)
	code := strings.Join(strings.Fields(r.PostForm.Get("code")), "")
	if len(code) != totpDigits {
		p.factorPage(w, r, http.StatusUnprocessableEntity, a, u, k, t.NoCode)
		return
	}
	attempt, wait := p.Failures.TryCode("second factor "+u.ID, p.Address(r))
	if wait > 0 {
		metrics.SignIn(a.client.ID, "sign-in", "throttled")
		w.Header().Set("Retry-After", problem.Seconds(wait))
		p.factorPage(w, r, http.StatusTooManyRequests, a, u, k,
			strings.ReplaceAll(t.Slow, "{seconds}", problem.Seconds(wait)))
		return
	}
	right, err := p.useCode(r, u, k, code)
	switch {
	case err != nil:
		attempt.Withdraw()
		p.brokenPage(w, r, err)
	case !right:
		metrics.SignIn(a.client.ID, "sign-in", "wrong_code")
		p.note(r, p.entry(r, "sign-in", "wrong_code", a.client.ID, u.ID))
		p.factorPage(w, r, http.StatusForbidden, a, u, k, t.WrongCode)
	default:
		attempt.Succeed()
		if k.First.Subject == "" { // they are authenticated from now on; an upstream reports its own time
			k.First.At = p.now()
		}
		p.signedIn(w, r, a, u, k.First)
	}
}

// useCode consumes a one-time password. It reports false for a wrong or used one.
func (p *Provider) useCode(r *http.Request, u *identity.User, k *passed, code string) (right bool, err error) {
	secret := k.Secret
	if secret == nil {
		if secret, err = p.Vault.Open(forFactors, u.ID, u.TOTP); err != nil {
			return false, err
		}
	}
	step, ok := stepOf(secret, code, p.now())
	if !ok {
		return false, nil
	}
	sealed, err := p.Vault.Seal(forFactors, u.ID, secret) // with the newest key
	if err != nil {
		return false, err
	}
	err = p.db().Write(r.Context(), func(tx *store.Tx) error {
		if k.Secret != nil {
			right, err = tx.InsertTOTP(u.ID, sealed, step)
		} else {
			right, err = tx.ConsumeTOTP(u.ID, u.TOTP, sealed, step)
		}
		return err
	})
	return right, err
}

// stepOf returns the time step of a one-time password. It reports false for a wrong one.
func stepOf(secret []byte, code string, now time.Time) (step int64, ok bool) {
	present := now.Unix() / totpPeriod
	for s := present - totpSkew; s <= present+totpSkew; s++ {
		// The error is that of a secret that is not base32.
		good, err := totp.GenerateCodeCustom(inBase32(secret), time.Unix(s*totpPeriod, 0),
			totp.ValidateOpts{Period: totpPeriod, Digits: totpDigits, Algorithm: otp.AlgorithmSHA1})
		if err == nil && subtle.ConstantTimeCompare([]byte(good), []byte(code)) == 1 {
			step, ok = s, true
		}
	}
	return step, ok
}

func inBase32(secret []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
}

// factorForm is the form that asks for a one-time password.
type factorForm struct {
	Ticket, Error string
	SetUp         *setUp // what an app is set up with; nil: it is set up
}

// setUp is the secret, to be typed, and as a picture: the modules of a QR code in an SVG of Size by Size, with a
// margin.
type setUp struct {
	Key  string
	Path string
	Size int
}

func (p *Provider) factorPage(w http.ResponseWriter, r *http.Request, status int, a *authorization, u *identity.User,
	k *passed, wrong string) {
	t := textsFor(a.locales, r)
	ticket, err := p.Vault.SealTicket(forPassed, p.Issuer, k)
	f := &factorForm{Ticket: ticket, Error: wrong}
	v := &page{Text: t, Title: t.FactorTitle, Lead: p.fill(t.Factor, ""), Factor: f, permitted: leading(a.redirectURI)}
	if err == nil && k.Secret != nil {
		v.Title, v.Lead = t.SetUpTitle, t.SetUp
		f.SetUp, err = p.setUp(u, k.Secret)
	}
	if err != nil {
		p.brokenPage(w, r, err)
		return
	}
	p.render(w, r, status, v)
}

// setUp draws what an app scans: an otpauth URI (Google Authenticator's key URI format).
func (p *Provider) setUp(u *identity.User, secret []byte) (*setUp, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: p.Title, AccountName: u.Email, Secret: secret})
	if err != nil {
		return nil, err
	}
	code, err := qr.Encode(key.URL(), qr.M, qr.Auto)
	if err != nil {
		return nil, err
	}
	const margin = 4
	size := code.Bounds().Dx()
	var path bytes.Buffer
	for y := range size {
		for x := range size {
			if red, _, _, _ := code.At(x, y).RGBA(); red == 0 {
				path.WriteString("M" + strconv.Itoa(x+margin) + " " + strconv.Itoa(y+margin) + "h1v1h-1z")
			}
		}
	}
	var groups []string
	for text := inBase32(secret); text != ""; text = text[min(4, len(text)):] {
		groups = append(groups, text[:min(4, len(text))])
	}
	return &setUp{Key: strings.Join(groups, " "), Path: path.String(), Size: size + 2*margin}, nil
}
