// Package relay carries the applications of a partner's tenants to the Apply API of their service, and reads there what
// its jobs ask.
package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/hiregate/hiregate/internal/applyclient"
	"github.com/hiregate/hiregate/internal/config"
	"github.com/hiregate/hiregate/internal/documents"
	"github.com/hiregate/hiregate/internal/limits"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Relay knows the services of the tenants that are relayed. It is safe for concurrent use.
type Relay struct {
	Store   *store.DB
	Archive *documents.Archive
	InForce *config.InForce
	Now     func() time.Time
	Log     *zap.Logger

	reading singleflight.Group
	signing sync.Map // of a tenant, the *sync.Mutex of its sign-ins
	firsts  sync.Map // of a tenant, the *atomic.Int64 of its first attempts that are under way
	unread  sync.Map // of what is renewed, when it could not be read last
	rates   limits.Rates
	words   sync.Map // by the address of a service, the *applyclient.Word
}

// MaySend reports whether the service of a tenant may be sent an application now, which uses its rate up.
func (r *Relay) MaySend(tenant string) bool {
	return r.allows("application", tenant, r.Upstream(tenant))
}

// allows uses up the rate of a service for a kind of request. Each kind has its own: strangers, who can have any job asked
// for, hold up no applications, and what is asked of known jobs.
func (r *Relay) allows(kind, tenant string, u *model.ApplyUpstream) bool {
	return u != nil && r.rates.Take(kind+" "+tenant, &u.Rate, r.Now()) == 0
}

// KeptFor is how long the content of a submission is kept that the service did not accept.
const KeptFor = 90 * 24 * time.Hour

const (
	attemptTime   = 5 * time.Minute // of one attempt
	questionsTime = 10 * time.Second
	// signInGap is the least time between two sign-ins at a service, from whatever node: a service that refuses tokens
	// is not asked for more by each submission.
	signInGap = 30 * time.Second
)

// Upstream returns the service of a tenant; nil: its applications are not relayed.
func (r *Relay) Upstream(tenant string) *model.ApplyUpstream {
	c := r.InForce.Current()
	if c == nil {
		return nil
	}
	t, ok := c.Tenant(tenant)
	if !ok {
		return nil
	}
	return t.ApplyUpstream
}

// passedHeader lists the relayed tenants that a request came through: of two that lead to one another, each sees itself.
const passedHeader = "X-Hiregate-Relayed"

// Passed returns the relayed tenants that a request came through.
func Passed(h http.Header) []string {
	return strings.FieldsFunc(strings.Join(h.Values(passedHeader), ","), func(c rune) bool { return c == ',' || c == ' ' })
}

// Loops reports whether a request came through a tenant of this gateway before, or through too many of them.
func (r *Relay) Loops(tenant string, passed []string) bool {
	return len(passed) >= model.MaxHops || slices.Contains(passed, r.mark(tenant))
}

// mark stands for a tenant of this gateway, and says nothing of it.
func (r *Relay) mark(tenant string) string {
	sum := sha256.Sum256([]byte(r.InForce.Current().PublicURL + "\x00" + tenant))
	return hex.EncodeToString(sum[:8])
}

// client returns the client of a tenant's service, for what came through other relayed tenants. Its requests go through
// egress.
func (r *Relay) client(tenant string, u *model.ApplyUpstream, passed []string) *applyclient.Client {
	c := applyclient.New(u.URL, u.User, r.InForce.Current().Egress.Client())
	c.Header = http.Header{passedHeader: {strings.Join(append(slices.Clone(passed), r.mark(tenant)), ", ")}}
	c.Password = func() (string, error) { return u.Password.Reveal(), nil }
	of := sha256.Sum256([]byte(u.URL + "\x00" + u.User + "\x00" + u.Password.Reveal()))
	c.Tokens = &tokens{r, tenant, of[:]}
	word, _ := r.words.LoadOrStore(u.URL, new(applyclient.Word))
	c.Word = word.(*applyclient.Word)
	return c
}

// tokens implements applyclient.Tokens with the store, for all nodes.
type tokens struct {
	*Relay
	tenant  string
	setting []byte
}

// errNoToken means that the service refuses the token that it gave a moment ago, or gave none.
var errNoToken = errors.New("the service refuses the token that it gave less than half a minute ago, or gave none: it is " +
	"asked again after that")

func (t *tokens) Token(ctx context.Context) (string, error) {
	u, err := t.Store.Upstream(ctx, t.tenant, t.setting)
	return u.Token, err
}

func (t *tokens) Renew(ctx context.Context, refused string,
	signIn func(context.Context) (string, error)) (string, error) {
	mine, _ := t.signing.LoadOrStore(t.tenant, new(sync.Mutex))
	mine.(*sync.Mutex).Lock()
	defer mine.(*sync.Mutex).Unlock()
	known, err := t.Token(ctx)
	if err != nil || known != "" && known != refused {
		return known, err
	}
	now, begun := t.Now(), false
	if err := t.Store.Write(ctx, func(tx *store.Tx) (err error) {
		begun, err = tx.BeginSignIn(t.tenant, now.Add(-signInGap), now)
		return err
	}); err != nil {
		return "", err
	}
	if !begun {
		return "", errNoToken
	}
	token, err := signIn(ctx)
	if err != nil {
		return "", err
	}
	return token, t.Store.Write(ctx, func(tx *store.Tx) error {
		return tx.UpdateUpstreamToken(t.tenant, token, t.setting)
	})
}

// said describes an answer that decides nothing, for people. It quotes nothing: the service may repeat what it was sent.
func said(a *applyclient.Reply) string {
	text := fmt.Sprintf("the service answered %d", a.Status)
	if name := http.StatusText(a.Status); name != "" {
		text += " " + name
	}
	switch {
	case a.Status/100 == 3:
		text += ", a redirect, which is not followed: correct the address of apply_upstream"
	case a.Status == http.StatusUnauthorized:
		text += ", also to a new token: have the service let the user of apply_upstream apply"
	case a.Status/100 == 2, a.Status == http.StatusBadRequest:
		text += ", but not as an Apply API does: something in front of it may have answered"
	}
	return text
}

// failure describes an error of a request, for people.
func failure(err error) string {
	refused := new(applyclient.SignInError)
	switch {
	case errors.As(err, &refused) && refused.Reply != nil && refused.Reply.Status == http.StatusUnauthorized:
		return "the service refuses the user name and the password: correct user and password of apply_upstream"
	case refused.Reply != nil && (refused.Reply.Status/100 == 2 || refused.Reply.Status == http.StatusNotFound ||
		refused.Reply.Status == http.StatusMethodNotAllowed):
		return fmt.Sprintf("no Apply API answers at the address of apply_upstream, but something that says %d: write the address "+
			"that /v2/authentication is below", refused.Reply.Status)
	case refused.Reply != nil:
		return "signing in: " + said(refused.Reply)
	case errors.Is(err, errNoToken):
		return errNoToken.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the service did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the service closed the connection before it had answered"
	case errors.As(err, new(interface{ RefusedByEgress() bool })):
		return "the address of apply_upstream leads where egress lets nothing go: allow it with the option egress"
	}
	return "the service can't be reached"
}
