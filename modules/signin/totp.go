package signin

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

// One-time passwords are as all authenticator apps make them: six digits of HMAC-SHA1, a new one each half minute (RFC
// 6238). The previous and the next one are valid too, because clocks differ.
const (
	totpPeriod = 30 // seconds
	totpDigits = 6
	totpSkew   = 1
	totpSecret = 20 // bytes
)

func newTOTPSecret() []byte {
	secret := make([]byte, totpSecret)
	rand.Read(secret)
	return secret
}

// useCode consumes a one-time password. It reports false for a wrong or used one.
func (p *Provider) useCode(r *http.Request, u *identity.User, k *factorTicket, code string) (right bool, err error) {
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
		// It fails only for a secret that is not base32.
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

// setUp shows a new secret: as text to type, and as a picture, the modules of a QR code in an SVG of Size by Size with
// a margin.
type setUp struct {
	Key  string
	Path string
	Size int
}

// newSetUp draws the picture that an app scans: an otpauth URI (Google Authenticator's key URI format).
func (p *Provider) newSetUp(u *identity.User, secret []byte) (*setUp, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: p.title(), AccountName: u.Email, Secret: secret})
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
