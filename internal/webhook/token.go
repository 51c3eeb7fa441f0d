package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"golang.org/x/sync/singleflight"

	"github.com/hiregate/hiregate/internal/bearer"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	// tokenTimeout bounds the fetching of a token: it leaves time to the attempt that waits for it.
	tokenTimeout = 10 * time.Second
	// tokenEarly is how long before its end a token is renewed: no attempt takes longer.
	tokenEarly = AttemptTimeout + 10*time.Second
	// tokenRest is how long a new token is kept although the receiver refuses it: one that refuses all of them costs one
	// in that time.
	tokenRest = time.Minute
)

// tokens has the bearer token of an integration. Attempts that need a new one at the same time share it.
type tokens struct {
	client  *http.Client
	config  clientcredentials.Config
	fetches singleflight.Group

	mu      sync.Mutex
	token   *oauth2.Token // nil: none was fetched yet
	fetched time.Time
	ends    time.Time // when it is renewed; zero: when it is refused
	// replaces: it was fetched because another one was refused. trusted: it was not, and the receiver accepted it, so that
	// a refusal means that it was revoked.
	replaces, trusted bool
	refusing          bool // the receiver refused a new token, and has accepted none since
}

func newTokens(client *http.Client, o *model.OAuth2) *tokens {
	return &tokens{client: bearer.Client(client), config: clientcredentials.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret,
		TokenURL: o.TokenURL, Scopes: scopes(o.Scope)}}
}

func scopes(scope string) []string {
	if scope == "" {
		return nil
	}
	return []string{scope} // they are joined with spaces
}

// get returns a token that is none of those that were refused, and will not end soon. The error is a *SendError, or
// the context's.
func (t *tokens) get(ctx context.Context, refused string) (string, error) {
	if token, ok := t.current(refused); ok {
		return token, nil
	}
	fetched := t.fetches.DoChan("", func() (any, error) {
		if token, ok := t.current(refused); ok { // another fetch ended between the two looks
			return token, nil
		}
		return t.fetch(refused != "")
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-fetched:
		if got.Err != nil {
			return "", got.Err
		}
		return got.Val.(string), nil
	}
}

func (t *tokens) current(refused string) (token string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == nil || t.token.AccessToken == refused || !t.ends.IsZero() && !time.Now().Before(t.ends) {
		return "", false
	}
	return t.token.AccessToken, true
}

// judge notes how the receiver answered a request with a token, and reports whether to send it again with a new one. A
// receiver that refuses new tokens as well gets each request once, and another token when the newest one rested.
func (t *tokens) judge(token string, status int) (again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := t.token.AccessToken == token
	if status != http.StatusUnauthorized {
		t.refusing = false
		t.trusted = t.trusted || newest && !t.replaces
		return false
	}
	rested := t.fetched.Add(tokenRest)
	if !t.refusing && (!newest || t.trusted || !time.Now().Before(rested)) {
		return true
	}
	t.refusing = true
	if newest && (t.ends.IsZero() || rested.Before(t.ends)) {
		t.ends = rested
	}
	return false
}

// fetch has a token issued; replaces says that it replaces one that was refused. It is bound to no attempt, since several
// may wait for it.
func (t *tokens) fetch(replaces bool) (string, error) {
	var seen progress
	ctx, cancel := context.WithTimeout(seen.trace(context.Background()), tokenTimeout)
	defer cancel()
	began := time.Now()
	token, err := t.ask(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		return "", t.explain(ctx, &seen, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token, t.fetched, t.ends, t.replaces, t.trusted = token, began, time.Time{}, replaces, false
	if !token.Expiry.IsZero() {
		left := token.Expiry.Sub(began)
		t.ends = began.Add(max(0, left-min(tokenEarly, left/2))) // a short life is used as well
	}
	return token.AccessToken, nil
}

// ask asks for a token. Until one was issued it shows the credentials in the header, and once more in the body to an
// endpoint that may look for them there; the way that worked is used from then on. The error is the first one, unless the
// second shows that the credentials are known.
func (t *tokens) ask(ctx context.Context) (*oauth2.Token, error) {
	config := t.config // only a fetch uses it, of which there is one at a time
	config.AuthStyle = cmp.Or(t.config.AuthStyle, oauth2.AuthStyleInHeader)
	token, err := config.Token(ctx)
	if t.config.AuthStyle == oauth2.AuthStyleAutoDetect && missesCredentials(err) {
		config.AuthStyle = oauth2.AuthStyleInParams
		second, failed := config.Token(ctx)
		if _, code := answerOf(failed); failed == nil || code == "invalid_scope" || code == "unauthorized_client" {
			token, err = second, failed
		}
	}
	if err == nil {
		t.config.AuthStyle = config.AuthStyle
		err = bearer.Check(token)
	}
	return token, err
}

// missesCredentials reports whether a token endpoint may have found no credentials where it looked for them.
func missesCredentials(err error) bool {
	status, code := answerOf(err)
	return status == http.StatusUnauthorized || code == "invalid_client" ||
		status == http.StatusBadRequest && (code == "" || code == "invalid_request") // those that know no header
}

// answerOf returns status and error code of the answer that an error is about; zeros where it is about none.
func answerOf(err error) (status int, code string) {
	answered := new(oauth2.RetrieveError)
	if !errors.As(err, &answered) || answered.Response == nil {
		return 0, ""
	}
	return answered.Response.StatusCode, answered.ErrorCode
}

// explain turns the error of a fetch into a *SendError. An answer is not quoted.
func (t *tokens) explain(ctx context.Context, seen *progress, err error) error {
	host := hostOf(t.config.TokenURL)
	refused := func(why string, args ...any) error {
		return &SendError{Kind: KindToken, Host: host, Err: fmt.Errorf(why, args...)}
	}
	if status, code := answerOf(err); status != 0 {
		switch {
		case code == "invalid_scope":
			return refused("token endpoint answered %d: check scope", status)
		case code == "invalid_client", code == "unauthorized_client", status == http.StatusUnauthorized:
			return refused("token endpoint answered %d: check client_id and client_secret", status)
		}
		return refused("token endpoint answered %d: check token_url, and ask those who run it", status)
	}
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		err = wrapped.Err // without the URL
	}
	why := new(SendError)
	switch {
	case errors.Is(err, bearer.ErrType):
		return refused("token endpoint answered with a token that is no bearer token: ask those who run it")
	case !errors.As(seen.explain(ctx, host, err), &why):
		return err
	case why.Kind == KindRefused:
		return why
	case why.Kind == KindTimeout:
		return refused("token endpoint did not answer in time (%v at most): ask those who run it", tokenTimeout)
	case seen.hasAnswer():
		return refused("token endpoint gave an answer that has no token: check token_url")
	}
	return refused("token endpoint could not be asked: %w", why)
}
