package signin

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/store"
)

func (p *Provider) report(r *http.Request, err error) {
	if r.Context().Err() == nil {
		p.Log.Error("sign-in could not answer a request", zap.String("path", r.URL.Path), zap.Error(err))
	}
}

// entry returns an entry of the log of sign-ins.
func (p *Provider) entry(r *http.Request, event, result, client, user string) *identity.Entry {
	return &identity.Entry{At: p.now(), Event: event, Result: result, Issuer: p.Issuer, Client: client, UserID: user,
		Address: p.Address(r)}
}

// The log accepts a hundred failures of a client at once, and then one a second: anyone who knows a client's id can
// cause them. The metrics count all.
const (
	notedAtOnce    = 100
	notedPerSecond = 1
)

// note writes a failure into the log of sign-ins. The request is answered even if that fails.
func (p *Provider) note(r *http.Request, e *identity.Entry) {
	limit, _ := p.noted.LoadOrStore(e.Event+" "+e.Client, rate.NewLimiter(notedPerSecond, notedAtOnce))
	if !limit.(*rate.Limiter).AllowN(e.At, 1) {
		return
	}
	if e.Result == errClient.Code {
		p.Log.Warn("an application sent a wrong client secret; give it the current one, or make another with "+
			"`hiregate oauth-client set "+e.Client+" --new-secret`", zap.String("client", e.Client))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 5*time.Second)
	defer cancel()
	if err := p.db().Write(ctx, func(tx *store.Tx) error { return tx.InsertSigninEntry(e) }); err != nil {
		p.Log.Error("the log of sign-ins could not be written", zap.Error(err))
	}
}
