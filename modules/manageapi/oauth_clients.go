package manageapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/identity"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/access"
)

// withSettings returns a client with the settings of a request.
func withSettings(c identity.Client, s api.OAuthClientSettings) *identity.Client {
	c.Name, c.RedirectURIs, c.LogoutURIs = s.Name, s.RedirectURIs, s.PostLogoutRedirectURIs
	c.Algorithm = identity.Algorithm(s.Algorithm)
	c.SecretPost, c.RequirePKCE, c.Consent = s.SecretPost, s.RequirePKCE, s.Consent
	if c.Algorithm == "" {
		c.Algorithm = identity.RS256
	}
	if c.LogoutURIs == nil {
		c.LogoutURIs = []string{}
	}
	return &c
}

// clients are the applications that people sign in to. One that is disabled stays in the list.
var clients = resource[api.OAuthClient]{
	path: "/v1/oauth-clients", id: "id", kind: "oauth-client", scope: shared, reader: model.Viewer, writer: model.Admin,
	list: func(r *request) ([]api.OAuthClient, string, error) {
		rows, next, err := r.db.ListClients(r.Context(), r.page.rows())
		all := make([]api.OAuthClient, len(rows))
		for n, c := range rows {
			if err == nil {
				all[n], err = r.client(c)
			}
		}
		return all, next, err
	},
	find: func(r *request) (api.OAuthClient, error) {
		c, err := findClient(r)
		if err != nil {
			return api.OAuthClient{}, err
		}
		return r.client(c)
	},
	view: itself[api.OAuthClient], tag: clientTag, add: addClient, repeat: repeatedClient, put: putClient, drop: disableClient,
}

// findClient returns the application that the path names.
func findClient(r *request) (*identity.Client, error) {
	c, err := r.db.Client(r.Context(), r.PathValue("id"))
	return c, notFound(err, noClient)
}

var noClient = problem.New(http.StatusNotFound, "there is no OAuth client of that id")

// client is an application with how many secrets it has.
func (r *request) client(c *identity.Client) (api.OAuthClient, error) {
	secrets, err := r.db.ListClientSecrets(r.Context(), c.ID)
	return oauthClientOf(c, len(secrets)), err
}

func oauthClientOf(c *identity.Client, secrets int) api.OAuthClient {
	return api.OAuthClient{ID: c.ID, OAuthClientSettings: api.OAuthClientSettings{Name: c.Name, RedirectURIs: c.RedirectURIs,
		PostLogoutRedirectURIs: c.LogoutURIs, Algorithm: string(c.Algorithm),
		SecretPost: c.SecretPost, RequirePKCE: c.RequirePKCE, Consent: c.Consent}, Secrets: secrets, CreatedAt: c.CreatedAt,
		DisabledAt: c.DisabledAt}
}

// clientTag is the entity tag of an application: a hash of what is shown of it, for it has no version.
func clientTag(shown api.OAuthClient) string {
	shown.Secret = ""
	raw, _ := json.Marshal(shown) // of texts, numbers and times
	return fmt.Sprintf(`"%.16x"`, digest.Of(string(raw)))
}

// expectClient is expect for an application, which nobody else changes until the transaction ends.
func (r *request) expectClient(tx *store.Tx, id string) error {
	c, secrets, ok, err := tx.LockClient(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return cmp.Or[error](r.expect(""), noClient)
	}
	return r.expect(clientTag(oauthClientOf(c, secrets)))
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
		return "", hash, problem.New(http.StatusUnprocessableEntity,
			"secret is made here, so that it can't be guessed: leave it out; in development mode it may be 8 to 255 of the "+
				"characters A-Z, a-z, 0-9, _ and -")
	}
	return sent, identity.HashSecret(sent), nil
}

func addClient(r *request) (any, error) {
	in, err := decode[api.OAuthClientInput](r)
	if err != nil {
		return nil, err
	}
	c := withSettings(identity.Client{ID: in.ID, CreatedAt: r.now()}, in.OAuthClientSettings)
	if err := invalid(c.Validate()); err != nil {
		return nil, err
	}
	secret, hash, err := r.newSecret(in.Secret)
	if err != nil {
		return nil, err
	}
	r.created("/v1/oauth-clients", c.ID)
	err = r.write(func(tx *store.Tx) error {
		err := tx.InsertClient(c)
		if errors.Is(err, store.ErrTaken) {
			return problem.New(http.StatusConflict, "there is an OAuth client of that id: take another one, or change that one")
		}
		if err != nil {
			return err
		}
		if err := tx.InsertClientSecret(c.ID, hash, c.CreatedAt); err != nil {
			return err
		}
		return r.note(tx, r.location)
	})
	if err != nil {
		return nil, err
	}
	return r.withSecret(c, secret)
}

// repeatedClient refuses the repeat of a request that made a secret.
func repeatedClient(*request, string) (any, error) {
	return nil, shownOnce("secret", "make another with POST …/reset and a new Idempotency-Key "+
		"(hiregate oauth-client set … --new-secret)")
}

// withSecret shows an application, with a secret that was made.
func (r *request) withSecret(c *identity.Client, secret string) (any, error) {
	shown, err := r.client(c)
	if err != nil {
		return nil, err
	}
	r.etag = clientTag(shown)
	shown.Secret = secret
	return shown, nil
}

// expectedClient returns the application that the path names, for what changes it.
func (r *request) expectedClient() (*identity.Client, error) {
	c, err := findClient(r)
	if missing(err) {
		err = cmp.Or(r.expect(""), err)
	}
	return c, err
}

// putClient changes the settings of an application.
func putClient(r *request) (any, error) {
	c, err := r.expectedClient()
	if err != nil {
		return nil, err
	}
	in, err := decode[api.OAuthClientSettings](r)
	if err != nil {
		return nil, err
	}
	c = withSettings(*c, in)
	if err := invalid(c.Validate()); err != nil {
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

// disableClient keeps an application from asking for anything.
func disableClient(r *request) (any, error) {
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

// resetClient makes another secret, which is shown this once. The newest one that there was stays good beside it,
// until it is ended; an application that was disabled may ask again, with the new one alone.
func resetClient(r *request) (any, error) {
	c, err := findClient(r)
	if err != nil {
		return nil, err
	}
	in, err := decodeAny[api.OAuthSecretInput](r)
	if err != nil {
		return nil, err
	}
	secret, hash, err := r.newSecret(in.Secret)
	if err != nil {
		return nil, err
	}
	now := r.now()
	err = r.write(func(tx *store.Tx) error {
		if err := endFormerSecrets(r, tx, c); err != nil {
			return err
		}
		err := tx.InsertClientSecret(c.ID, hash, now)
		if errors.Is(err, access.ErrTooMany) { // another node made one at the same time
			return problem.New(http.StatusConflict, "secrets were made at the same time: ask again").RetryAfter(time.Second)
		}
		if err != nil {
			return err
		}
		if err := r.note(tx, pathOf("/v1/oauth-clients", c.ID)); err != nil || c.DisabledAt.IsZero() {
			return err
		}
		if err := endFormerSecrets(r, tx, c); err != nil {
			return err
		}
		_, err = tx.EnableClient(c.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.DisabledAt = time.Time{}
	return r.withSecret(c, secret)
}

// endFormerSecrets ends all secrets of an application but the newest: the end of a rotation.
func endFormerSecrets(_ *request, tx *store.Tx, c *identity.Client) error {
	return tx.DeleteOlderClientSecrets(c.ID)
}
