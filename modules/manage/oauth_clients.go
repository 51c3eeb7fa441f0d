package manage

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// oauthSettings are those of an application that people sign in to.
type oauthSettings struct {
	Name                   string             `json:"name"`
	RedirectURIs           []string           `json:"redirectUris"`
	PostLogoutRedirectURIs []string           `json:"postLogoutRedirectUris"`
	Algorithm              identity.Algorithm `json:"algorithm"` // of its ID tokens; default: RS256
	SecretPost             bool               `json:"secretPost"`
	RequirePKCE            bool               `json:"requirePkce"`
	Consent                bool               `json:"consent"`
}

// oauthClient is such an application, as it is shown.
type oauthClient struct {
	ID string `json:"id"`
	oauthSettings
	Secret     string    `json:"secret,omitempty"` // in the answer that makes it, and never again
	Secrets    int       `json:"secrets"`          // how many are good
	CreatedAt  time.Time `json:"createdAt"`
	DisabledAt time.Time `json:"disabledAt,omitzero"`
}

func (s oauthSettings) of(c identity.Client) *identity.Client {
	c.Name, c.RedirectURIs, c.LogoutURIs, c.Algorithm = s.Name, s.RedirectURIs, s.PostLogoutRedirectURIs, s.Algorithm
	c.SecretPost, c.RequirePKCE, c.Consent = s.SecretPost, s.RequirePKCE, s.Consent
	if c.Algorithm == "" {
		c.Algorithm = identity.RS256
	}
	if c.LogoutURIs == nil {
		c.LogoutURIs = []string{}
	}
	return &c
}

func (r *request) clientOf(c *identity.Client) (oauthClient, error) {
	secrets, err := r.db.ClientSecrets(r.Context(), c.ID)
	if err != nil {
		return oauthClient{}, err
	}
	return oauthClientOf(c, len(secrets)), nil
}

func oauthClientOf(c *identity.Client, secrets int) oauthClient {
	return oauthClient{ID: c.ID, oauthSettings: oauthSettings{Name: c.Name, RedirectURIs: c.RedirectURIs, PostLogoutRedirectURIs: c.LogoutURIs, Algorithm: c.Algorithm,
		SecretPost: c.SecretPost, RequirePKCE: c.RequirePKCE, Consent: c.Consent}, Secrets: secrets, CreatedAt: c.CreatedAt, DisabledAt: c.DisabledAt}
}

// clientTag is the entity tag of an application: a hash of what is shown of it, for it has no version.
func clientTag(shown oauthClient) string {
	shown.Secret = ""
	raw, _ := json.Marshal(shown) // of texts, numbers and times
	return fmt.Sprintf(`"%.16x"`, digest.Of(string(raw)))
}

// expectClient is expect for an application, which nobody else changes until the transaction ends.
func (r *request) expectClient(tx *store.Tx, id string) error {
	c, secrets, ok, err := tx.HoldClient(id)
	if err != nil {
		return err
	}
	if !ok {
		return cmp.Or(r.expect(""), noClient())
	}
	if err := r.expect(clientTag(oauthClientOf(c, secrets))); err != nil {
		return err
	}
	return nil
}

func noClient() error {
	return problem.New(http.StatusNotFound, "there is no OAuth client of that id")
}

func (r *request) listClients() (any, error) {
	_, page, err := r.page("oauth-client")
	if err == nil {
		err = r.forAll()
	}
	if err != nil {
		return nil, err
	}
	rows, next, err := r.db.Clients(r.Context(), page.rows())
	if err != nil {
		return nil, err
	}
	l := list[oauthClient]{Items: make([]oauthClient, len(rows)), Next: page.cursor(next)}
	for n, c := range rows {
		if l.Items[n], err = r.clientOf(c); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// devSecret is what a secret may be that the development mode is given.
var devSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{8,255}$`)

// newSecret makes a secret of a client. In development mode it may be one that is sent, so that examples can name it.
func (r *request) newSecret(sent string) (secret string, hash identity.Hash, err error) {
	if sent == "" {
		secret, hash = identity.NewSecret()
		return secret, hash, nil
	}
	if !r.gateway.Config.Dev || !devSecret.MatchString(sent) {
		return "", hash, problem.New(http.StatusUnprocessableEntity, "secret is made here, so that it can't be guessed: leave it out; in development mode it may be 8 to 255 of the characters A-Z, a-z, 0-9, _ and -")
	}
	return sent, identity.HashSecret(sent), nil
}

func (r *request) addClient() (any, error) {
	if err := r.own(); err != nil {
		return nil, err
	}
	in, err := decode[struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
		oauthSettings
	}](r)
	if err != nil {
		return nil, err
	}
	c := in.of(identity.Client{ID: in.ID, CreatedAt: r.gateway.Now().UTC().Truncate(time.Microsecond)})
	if err := invalid(c.Check()); err != nil {
		return nil, err
	}
	secret, hash, err := r.newSecret(in.Secret)
	if err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		if renewed, err := r.renewSecret(tx, c.ID, hash); renewed || err != nil {
			return err
		}
		err := tx.AddClient(c)
		if errors.Is(err, store.ErrTaken) {
			return problem.New(http.StatusConflict, "there is an OAuth client of that id: take another one, or change that one")
		}
		if err != nil {
			return err
		}
		if err := tx.AddClientSecret(c.ID, hash, c.CreatedAt); err != nil {
			return err
		}
		return r.noteSecret(tx, hash)
	})
	if err != nil {
		return nil, err
	}
	r.location = "/v1/oauth-clients/" + url.PathEscape(c.ID)
	return r.asItIs(c.ID, secret)
}

// noteSecret notes a secret that the request makes, by its hash.
func (r *request) noteSecret(tx *store.Tx, hash identity.Hash) error {
	return r.note(tx, hex.EncodeToString(hash[:]))
}

// renewSecret puts a secret in the place of the one that an earlier try of the request made, which nobody has seen. It reports false when
// there was none, or it was ended since.
func (r *request) renewSecret(tx *store.Tx, client string, hash identity.Hash) (bool, error) {
	if r.done() == "" {
		return false, nil
	}
	var before identity.Hash
	if _, err := hex.Decode(before[:], []byte(r.done())); err != nil {
		return false, fmt.Errorf("reading which secret a request made: %w", err)
	}
	renewed, err := tx.RenewClientSecret(client, before, hash)
	if err != nil || !renewed {
		return false, err
	}
	return true, r.noteSecret(tx, hash)
}

// asItIs is an application as the store has it now, with a secret that was made.
func (r *request) asItIs(id, secret string) (any, error) {
	c, err := r.db.Client(r.Context(), id)
	if err != nil {
		return nil, err
	}
	return r.withSecret(c, secret)
}

func (r *request) withSecret(c *identity.Client, secret string) (any, error) {
	shown, err := r.clientOf(c)
	if err != nil {
		return nil, err
	}
	r.etag = clientTag(shown)
	shown.Secret = secret
	return shown, nil
}

// client is the application that the path names.
func (r *request) client() (*identity.Client, error) {
	if err := r.own(); err != nil {
		return nil, err
	}
	c, err := r.db.Client(r.Context(), r.PathValue("id"))
	if errors.Is(err, store.ErrNotFound) {
		return nil, noClient()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (r *request) showClient() (any, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	return r.withSecret(c, "")
}

// expectedClient is the application that the path names, for what changes it.
func (r *request) expectedClient() (*identity.Client, error) {
	c, err := r.client()
	if missing(err) {
		err = cmp.Or(r.expect(""), err)
	}
	return c, err
}

// putClient changes the settings of an application.
func (r *request) putClient() (any, error) {
	c, err := r.expectedClient()
	if err != nil {
		return nil, err
	}
	in, err := decode[oauthSettings](r)
	if err != nil {
		return nil, err
	}
	c = in.of(*c)
	if err := invalid(c.Check()); err != nil {
		return nil, err
	}
	err = r.write(func(tx *store.Tx) error {
		if err := r.expectClient(tx, c.ID); err != nil {
			return err
		}
		_, err := tx.UpdateClient(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.withSecret(c, "")
}

// disableClient keeps an application from asking for anything. It stays in the list.
func (r *request) disableClient() (any, error) {
	c, err := r.expectedClient()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error {
		if err := r.expectClient(tx, c.ID); err != nil {
			return err
		}
		_, err := tx.DisableClient(c.ID, r.gateway.Now())
		return err
	})
}

// resetClient makes another secret, which is shown this once. The newest one that there was stays good beside it, until it is ended;
// an application that was disabled may ask again, with the new one alone.
func (r *request) resetClient() (any, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	in, err := decodeAny[struct {
		Secret string `json:"secret"`
	}](r)
	if err != nil {
		return nil, err
	}
	secret, hash, err := r.newSecret(in.Secret)
	if err != nil {
		return nil, err
	}
	now := r.gateway.Now().UTC().Truncate(time.Microsecond)
	err = r.write(func(tx *store.Tx) error {
		if renewed, err := r.renewSecret(tx, c.ID, hash); renewed || err != nil {
			return err
		}
		if err := tx.KeepClientSecret(c.ID); err != nil {
			return err
		}
		err := tx.AddClientSecret(c.ID, hash, now)
		if errors.Is(err, store.ErrTooMany) { // another node made one at the same time
			return problem.New(http.StatusConflict, "secrets were made at the same time: ask again").RetryAfter(time.Second)
		}
		if err != nil {
			return err
		}
		if err := r.noteSecret(tx, hash); err != nil || c.DisabledAt.IsZero() {
			return err
		}
		if err := tx.KeepClientSecret(c.ID); err != nil {
			return err
		}
		_, err = tx.EnableClient(c.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.asItIs(c.ID, secret)
}

// endSecrets ends all secrets of an application but the newest: the end of a rotation.
func (r *request) endSecrets() (any, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	return nil, r.write(func(tx *store.Tx) error { return tx.KeepClientSecret(c.ID) })
}
