package accounts

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
	"github.com/hiregate/hiregate/modules/manageapi/rest"
)

// withSettings returns a client with the settings of a request.
func withSettings(c identity.Client, s api.OAuthClientSettings) *identity.Client {
	c.Name, c.RedirectURIs, c.LogoutURIs = s.Name, s.RedirectURIs, s.PostLogoutRedirectURIs
	c.BackchannelLogoutURI, c.Algorithm = s.BackchannelLogoutURI, identity.Algorithm(s.Algorithm)
	c.SecretPost, c.RequirePKCE, c.Consent, c.Groups = s.SecretPost, s.RequirePKCE, s.Consent, s.Groups
	if c.Algorithm == "" {
		c.Algorithm = identity.RS256
	}
	if c.LogoutURIs == nil {
		c.LogoutURIs = []string{}
	}
	return &c
}

// clients serves the applications that people sign in to. A disabled one stays in the list.
var clients = rest.Resource[api.OAuthClient]{
	Path: "/v1/oauth-clients", ID: "id", Kind: "oauth-client", Scope: rest.Shared,
	Reader: model.Viewer, Writer: model.Admin,
	List: func(r *rest.Request) ([]api.OAuthClient, string, error) {
		rows, next, err := r.DB.ListClients(r.Context(), r.Page.Rows())
		all := make([]api.OAuthClient, len(rows))
		for n, c := range rows {
			if err == nil {
				all[n], err = clientWithSecrets(r, c)
			}
		}
		return all, next, err
	},
	Find: func(r *rest.Request) (api.OAuthClient, error) {
		c, err := findClient(r)
		if err != nil {
			return api.OAuthClient{}, err
		}
		return clientWithSecrets(r, c)
	},
	View: rest.Identity[api.OAuthClient], Tag: clientTag, Add: addClient, Repeat: repeatedClient,
	Put: putClient, Drop: disableClient,
}

// findClient returns the application that the path names.
func findClient(r *rest.Request) (*identity.Client, error) {
	c, err := r.DB.Client(r.Context(), r.PathValue("id"))
	return c, rest.NotFound(err, noClient)
}

var noClient = problem.New(http.StatusNotFound, "there is no OAuth client of that id")

// clientWithSecrets returns an application with the number of its secrets.
func clientWithSecrets(r *rest.Request, c *identity.Client) (api.OAuthClient, error) {
	secrets, err := r.DB.ListClientSecrets(r.Context(), c.ID)
	return oauthClientOf(c, len(secrets)), err
}

func oauthClientOf(c *identity.Client, secrets int) api.OAuthClient {
	return api.OAuthClient{ID: c.ID, OAuthClientSettings: api.OAuthClientSettings{Name: c.Name,
		RedirectURIs: c.RedirectURIs, PostLogoutRedirectURIs: c.LogoutURIs,
		BackchannelLogoutURI: c.BackchannelLogoutURI, Algorithm: string(c.Algorithm),
		SecretPost: c.SecretPost, RequirePKCE: c.RequirePKCE, Consent: c.Consent, Groups: listed(c.Groups)}, Secrets: secrets, CreatedAt: c.CreatedAt,
		DisabledAt: c.DisabledAt}
}

// clientTag returns the entity tag of an application, which has no version: a hash of its answer.
func clientTag(shown api.OAuthClient) string {
	shown.Secret = ""
	raw, _ := json.Marshal(shown) // of texts, numbers and times
	return fmt.Sprintf(`"%.16x"`, digest.Of(string(raw)))
}

// expectClient is Expect for an application. It locks the application until the transaction ends.
func expectClient(r *rest.Request, tx *store.Tx, id string) error {
	c, secrets, ok, err := tx.LockClient(id)
	switch {
	case err != nil:
		return err
	case !ok:
		return cmp.Or[error](r.Expect(""), noClient)
	}
	return r.Expect(clientTag(oauthClientOf(c, secrets)))
}

// devSecret matches the secrets that a request may choose in development mode.
var devSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{8,255}$`)

// newSecret makes a secret of a client. In development mode it may be one that is sent, so that examples can name it.
func newSecret(r *rest.Request, sent string) (secret string, hash identity.Hash, err error) {
	if sent == "" {
		secret, hash = identity.NewSecret()
		return secret, hash, nil
	}
	if !r.Gateway.Config.Dev || !devSecret.MatchString(sent) {
		return "", hash, problem.New(http.StatusUnprocessableEntity,
			"secret is made here, so that it can't be guessed: leave it out; in development mode it may be 8 to 255 of the "+
				"characters A-Z, a-z, 0-9, _ and -")
	}
	return sent, identity.HashSecret(sent), nil
}

func addClient(r *rest.Request) (any, error) {
	in, err := rest.Decode[api.OAuthClientInput](r)
	if err != nil {
		return nil, err
	}
	c := withSettings(identity.Client{ID: in.ID, CreatedAt: r.Now()}, in.OAuthClientSettings)
	if err := rest.Invalid(c.Validate()); err != nil {
		return nil, err
	}
	secret, hash, err := newSecret(r, in.Secret)
	if err != nil {
		return nil, err
	}
	r.Created("/v1/oauth-clients", c.ID)
	err = r.Update(func(tx *store.Tx) error {
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
		return r.Note(tx, r.Location)
	})
	if err != nil {
		return nil, err
	}
	return withSecret(r, c, secret)
}

// repeatedClient refuses the repeat of a request that made a secret.
func repeatedClient(*rest.Request, string) (any, error) {
	return nil, rest.ShownOnce("secret", "make another with POST …/reset and a new Idempotency-Key "+
		"(hiregate oauth-client set … --new-secret)")
}

// withSecret shows an application, with a secret that was made.
func withSecret(r *rest.Request, c *identity.Client, secret string) (any, error) {
	shown, err := clientWithSecrets(r, c)
	if err != nil {
		return nil, err
	}
	r.ETag = clientTag(shown)
	shown.Secret = secret
	return shown, nil
}

// expectedClient returns the application that the path names, for what changes it.
func expectedClient(r *rest.Request) (*identity.Client, error) {
	c, err := findClient(r)
	if rest.IsNotFound(err) {
		err = cmp.Or(r.Expect(""), err)
	}
	return c, err
}

// putClient changes the settings of an application.
func putClient(r *rest.Request) (any, error) {
	c, err := expectedClient(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.Decode[api.OAuthClientSettings](r)
	if err != nil {
		return nil, err
	}
	c = withSettings(*c, in)
	if err := rest.Invalid(c.Validate()); err != nil {
		return nil, err
	}
	err = r.Update(func(tx *store.Tx) error {
		if err := expectClient(r, tx, c.ID); err != nil {
			return err
		}
		_, err := tx.UpdateClient(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return withSecret(r, c, "")
}

// disableClient keeps an application from asking for anything.
func disableClient(r *rest.Request) (any, error) {
	c, err := expectedClient(r)
	if err != nil {
		return nil, err
	}
	return nil, r.Update(func(tx *store.Tx) error {
		if err := expectClient(r, tx, c.ID); err != nil {
			return err
		}
		_, err := tx.DisableClient(c.ID, r.Gateway.Now())
		return err
	})
}

// resetClient makes another secret, which is shown once. The newest secret before stays valid beside it, until it is
// ended; an application that was disabled may ask again, only with the new one.
func resetClient(r *rest.Request) (any, error) {
	c, err := findClient(r)
	if err != nil {
		return nil, err
	}
	in, err := rest.DecodeAny[api.OAuthSecretInput](r)
	if err != nil {
		return nil, err
	}
	secret, hash, err := newSecret(r, in.Secret)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	err = r.Update(func(tx *store.Tx) error {
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
		if err := r.Note(tx, rest.PathOf("/v1/oauth-clients", c.ID)); err != nil || c.DisabledAt.IsZero() {
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
	return withSecret(r, c, secret)
}

// endFormerSecrets ends all secrets of an application but the newest: the end of a rotation.
func endFormerSecrets(_ *rest.Request, tx *store.Tx, c *identity.Client) error {
	return tx.DeleteOlderClientSecrets(c.ID)
}
