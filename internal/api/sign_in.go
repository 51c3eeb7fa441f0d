package api

import "time"

// User is a person who signs in.
type User struct {
	ID string `json:"id" schema:"ref=Id"` // the claim sub
	UserProfile
	// made by the gateway, only in the answer that makes it
	Password     string    `json:"password,omitempty" schema:"once pattern=^[A-Za-z0-9_-]{43}$"`
	CreatedAt    time.Time `json:"createdAt"`
	DisabledAt   time.Time `json:"disabledAt,omitzero"`   // absent: the user is enabled
	LastSignInAt time.Time `json:"lastSignInAt,omitzero"` // absent: never, or before that was noted
	// the second factor, a one-time password of an authenticator app; pending: the user sets it up at the next sign-in
	TOTP string `json:"totp" schema:"enum=off|pending|on"`
	// the user chooses another password at the next sign-in with the one that they have
	MustChange bool `json:"mustChange"`
	// of the company's provider, as <provider>/<group>, since the user last signed in there
	UpstreamGroups []string `json:"upstreamGroups"`
}

// UserProfile is the part of a user that an administrator sets.
type UserProfile struct {
	Email         string `json:"email" schema:"maxLength=255"`
	EmailVerified bool   `json:"emailVerified" schema:"optional"`
	Name          string `json:"name" schema:"optional maxLength=255"`
	GivenName     string `json:"givenName" schema:"optional maxLength=255"`
	FamilyName    string `json:"familyName" schema:"optional maxLength=255"`
	// groups without a slash: those with one come from other providers
	Groups []string `json:"groups" schema:"optional maxItems=100 items.maxLength=255"`
}

// UserInput makes a user.
type UserInput struct {
	UserProfile
	UserPasswordInput
}

// UserPasswordInput sets the password of a user.
type UserPasswordInput struct {
	PasswordInput
	// the user chooses another one at the next sign-in with it
	MustChange bool `json:"mustChange" schema:"optional"`
}

// UserSession is where a user is signed in.
type UserSession struct {
	SID        string    `json:"sid"` // the claim sid; empty: a former version began it
	Issuer     string    `json:"issuer"`
	SignedInAt time.Time `json:"signedInAt"`
	UsedAt     time.Time `json:"usedAt,omitzero"` // when an application last got something in it; absent: not since the sign-in
	EndsAt     time.Time `json:"endsAt"`
	Address    string    `json:"address"` // where it began
	Browser    string    `json:"browser"` // such as Firefox, Linux; empty: unknown
}

// RecoveryInput asks for a link with which a user chooses a password.
type RecoveryInput struct {
	ResetTOTP bool `json:"resetTotp,omitzero"` // the user sets up another second factor as well
}

// Recovery is a link with which a user chooses a password, once. Another password ends it.
type Recovery struct {
	URL       string    `json:"url" schema:"format=uri"` // whoever has it chooses the password
	ResetTOTP bool      `json:"resetTotp"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// UpstreamAccount is an account of a user at another provider.
type UpstreamAccount struct {
	Issuer   string    `json:"issuer"`
	Subject  string    `json:"subject"` // the claim sub there
	JoinedAt time.Time `json:"joinedAt"`
}

// OAuthClient is an application that people sign in to.
type OAuthClient struct {
	ID string `json:"id" schema:"pattern=^[A-Za-z0-9._-]{1,255}$"`
	OAuthClientSettings
	// only in the answer that makes it
	Secret     string    `json:"secret,omitempty" schema:"once pattern=^[A-Za-z0-9_-]{8,255}$"`
	Secrets    int       `json:"secrets" schema:"minimum=0 maximum=2"` // how many are valid
	CreatedAt  time.Time `json:"createdAt"`
	DisabledAt time.Time `json:"disabledAt,omitzero"` // absent: the client is enabled
}

// OAuthClientSettings are the settings of an application that people sign in to.
type OAuthClientSettings struct {
	Name string `json:"name" schema:"minLength=1 maxLength=255"` // as people know it
	// where codes go: https, or http on this machine; compared byte for byte; without the parameters that answers add:
	// code, state, iss, error, error_description, error_uri
	RedirectURIs []string `json:"redirectUris" schema:"minItems=1 maxItems=50 items.maxLength=2048"`
	// where people may go after signing out
	PostLogoutRedirectURIs []string `json:"postLogoutRedirectUris" schema:"optional maxItems=50 items.maxLength=2048"`
	// where it is told that a session of its user has ended (OpenID Connect Back-Channel Logout 1.0); empty: it is not told
	BackchannelLogoutURI string `json:"backchannelLogoutUri" schema:"optional maxLength=2048"`
	// of its ID tokens; left out: RS256
	Algorithm string `json:"algorithm" schema:"optional enum=RS256|ES256"`
	// it may send its secret in the body, too (client_secret_post)
	SecretPost bool `json:"secretPost" schema:"optional"`
	// it must send a code_challenge (S256)
	RequirePKCE bool `json:"requirePkce" schema:"optional"`
	// people are asked before it learns who they are
	Consent bool `json:"consent" schema:"optional"`
	// whose people may sign in to it, such as staff or acme/recruiters; empty: everyone
	Groups []string `json:"groups" schema:"optional maxItems=100 items.maxLength=255"`
}

// OAuthClientInput makes an OAuth client.
type OAuthClientInput struct {
	ID string `json:"id" schema:"pattern=^[A-Za-z0-9._-]{1,255}$"` // neither . nor ..
	OAuthSecretInput
	OAuthClientSettings
}

// OAuthSecretInput sets the secret of an OAuth client.
type OAuthSecretInput struct {
	// in development mode only; left out: the gateway makes one
	Secret string `json:"secret,omitzero" schema:"pattern=^[A-Za-z0-9_-]{8,255}$"`
}

// SignIn is an entry of the log of sign-ins.
type SignIn struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Event   string    `json:"event" schema:"enum=sign-in|sign-out|authorize|token|refresh|revoke|password|recovery|second-factor"`
	Result  string    `json:"result"` // success, or the reason
	Issuer  string    `json:"issuer"`
	Client  string    `json:"client"`  // empty: none that is known
	User    string    `json:"user"`    // the id of the user; empty: none that is known
	Address string    `json:"address"` // where the request came from
}

// Session is a session of somebody at a console, or at an application behind signin_gate.
type Session struct {
	ID       string `json:"id" schema:"pattern=^[0-9a-f]{64}$"`
	Site     string `json:"site"`     // the address of the console, or the one below which the gate has its own
	Provider string `json:"provider"` // its issuer
	Person   string `json:"person"`   // their id at the provider (claim sub)
	// of a user here; left out: they signed in at another provider
	Email     string    `json:"email,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UsedAt    time.Time `json:"usedAt"` // the last use, to a quarter of an hour
	EndsAt    time.Time `json:"endsAt"` // at the latest
}

// SessionsToEnd names a session by its id, or all of a site, a provider and a person.
type SessionsToEnd struct {
	ID       string `json:"id,omitzero" schema:"pattern=^[0-9a-f]{64}$"`
	Site     string `json:"site,omitzero" schema:"maxLength=2048"`
	Provider string `json:"provider,omitzero" schema:"maxLength=2048"`
	Person   string `json:"person,omitzero" schema:"maxLength=255"` // their id at the provider, or the e-mail address of a user here
}

// EndedSessions says how many sessions were ended.
type EndedSessions struct {
	Ended int64 `json:"ended"`
}

// SignInRefusal counts authorization requests that sign-in refused for the same reason.
type SignInRefusal struct {
	ID     string `json:"id"`
	Client string `json:"client"` // as it was sent; empty: none that could be one
	Known  bool   `json:"known"`  // whether there is such a client
	Reason string `json:"reason" schema:"enum=unknown_client|disabled_client|redirect_uri_differs|redirect_uri_missing_or_repeated"`
	// as it was sent, without its query; empty: none, or no URL
	RedirectURI string    `json:"redirectUri"`
	Count       int64     `json:"count" schema:"minimum=1"`
	FirstAt     time.Time `json:"firstAt"`
	LastAt      time.Time `json:"lastAt"`
}
