// Package identity holds the types of sign-in: users, OAuth clients, grants, tokens and keys. It imports no other
// package of hiregate.
package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// User is a person who signs in.
type User struct {
	ID            string // the claim sub
	Email         string
	EmailVerified bool
	Name          string
	GivenName     string
	FamilyName    string
	Password      string // its hash; see package password
	MustChange    bool   // they choose another password at the next sign-in with this one
	CreatedAt     time.Time
	DisabledAt    time.Time // zero: not disabled
	SignedInAt    time.Time // the last time; zero: never, or before that was noted
	TOTPRequired  bool      // they need a second factor: a time-based one-time password (RFC 6238)
	TOTPOwn       bool      // they chose to have it by themselves, and may remove it
	TOTP          []byte    // its secret, sealed; nil: not set up yet
	TOTPStep      int64     // of the last one-time password that was used
	Groups        []string  // that an administrator put them in
	// UpstreamGroups has those of their company's provider, as <provider>/<group>, since they last signed in there.
	UpstreamGroups []string
}

// UpstreamAccount is an account at another provider that is joined to a user: signing in there signs in the user.
type UpstreamAccount struct {
	Issuer   string
	Subject  string // the claim sub there
	JoinedAt time.Time
}

// Algorithm is a signature algorithm of ID tokens (RFC 7518 section 3.1).
type Algorithm string

// The algorithms, the usual one first.
const (
	RS256 Algorithm = "RS256"
	ES256 Algorithm = "ES256"
)

// Algorithms are all algorithms.
var Algorithms = []Algorithm{RS256, ES256}

// Client is an application that people sign in to. All are confidential.
type Client struct {
	ID           string
	Name         string   // as people know it
	RedirectURIs []string // where codes go, compared byte for byte
	LogoutURIs   []string // where people may go after signing out
	// BackchannelLogoutURI is where it is told that a session has ended; empty: it is not told.
	BackchannelLogoutURI string
	Algorithm            Algorithm // of its ID tokens
	SecretPost           bool      // it may send its secret in the body as well
	RequirePKCE          bool
	Consent              bool     // users are asked before it learns who they are
	Groups               []string // whose people may sign in to it; empty: everyone
	CreatedAt            time.Time
	DisabledAt           time.Time // zero: not disabled
}

// MaxSecrets limits the secrets of a client that are valid at once: two, during a rotation.
const MaxSecrets = 2

// Session is a user's session at an issuer.
type Session struct {
	Hash       Hash // of the cookie's value
	Issuer     string
	UserID     string
	SID        string // what applications know the session by (claim sid); set where it is inserted
	SignedInAt time.Time
	UsedAt     time.Time // when an application last got something in it; zero: not since the sign-in
	Till       time.Time
	Address    string           // where it began
	Browser    string           // such as Firefox, Linux; empty: unknown
	GrantsTill time.Time        // the absolute end of what is granted in the session; zero: GrantLife after the grant
	Upstream   *UpstreamSession // in which they signed in; nil: they did with a password. It is not read with the session
}

// UpstreamSession is the session at another provider in which a user signed in here.
type UpstreamSession struct {
	Hash       Hash   // of the session here
	Site       string // our issuer
	Issuer     string // of the other provider
	Subject    string // the claim sub there
	SID        string // the session there (claim sid); empty: the provider named none
	UserID     string
	Refresh    []byte    // the refresh token there, sealed; nil: the provider gave none
	AskedAt    time.Time // when the provider last said that the user is still there
	PausedTill time.Time // until when it is not asked, since it did not answer
	Till       time.Time // of the last grant in it
}

// SessionEnded is the event that an application is told of through its back channel.
const SessionEnded = "session.ended"

// EndedSession is a session of which an application is told that it has ended.
type EndedSession struct {
	Subject string `json:"sub"`
	SID     string `json:"sid"`
}

// ConsoleSession is a person's session at a console, or at a gate.
type ConsoleSession struct {
	Hash    Hash   // of the cookie's value
	Console string // the address of the console, or of the gate: see GateAddress
	Issuer  string // the provider where they signed in
	Subject string // the claim sub there
	SID     string // the session there (claim sid); empty: the provider named none
	// SignIn is the session at our own sign-in that this one ends with; zero: they signed in at another provider.
	SignIn    Hash
	Person    []byte // what the console knows of them, sealed
	CreatedAt time.Time
	UsedAt    time.Time // the last time, to about a quarter of an hour; zero: not known
	Till      time.Time
	// Refresh is the refresh token at another provider, sealed; nil: there is none. It is used from RefreshAt on, and the
	// provider has confirmed the session until ConfirmedTill.
	Refresh       []byte
	RefreshAt     time.Time
	ConfirmedTill time.Time
	// Email is the verified address that they have now at our own sign-in; empty: none, or it is another provider's.
	Email string
}

// Grant records what a user allows a client; the client gets a code for it.
type Grant struct {
	Issuer      string
	Client      string
	UserID      string
	RedirectURI string
	Scope       string
	Claims      string // that were asked for by name; JSON, empty: none
	Nonce       string
	Challenge   string // of PKCE, S256; empty: none
	SignedInAt  time.Time
	IssuedAt    time.Time
	EndsAt      time.Time // whatever is refreshed; set where a grant is read
	SID         string    // of the session; empty: none, or the client was told that it has ended. Set where a grant is read
}

// The lifetimes. SessionLife and GrantLife are defaults, counted from the sign-in.
const (
	CodeLife    = 5 * time.Minute
	AccessLife  = time.Hour
	IDTokenLife = time.Hour
	RefreshLife = 30 * 24 * time.Hour // of one refresh token that is not used
	SessionLife = 12 * time.Hour
	GrantLife   = 30 * 24 * time.Hour // of a grant, however often its tokens are refreshed

	// UnconfirmedLife limits what began at another provider that can't be asked later whether its user is still there.
	UnconfirmedLife = 12 * time.Hour

	LogoutTriedFor = 24 * time.Hour // for which an application is told that a session has ended

	RefreshGrace = 30 * time.Second // in which a rotated refresh token may be used again
)

// Kind is the kind of a token.
type Kind string

// The kinds.
const (
	Access  Kind = "access"
	Refresh Kind = "refresh"
)

// Token is an access or refresh token, found by its hash.
type Token struct {
	Hash  Hash
	Kind  Kind
	Scope string
	Till  time.Time
}

// Key signs ID tokens from a time on, until the next generation replaces it.
type Key struct {
	Algorithm  Algorithm
	Generation int
	ID         string // the kid of RFC 7515
	Sealed     []byte // the private key
	SignsFrom  time.Time
	CreatedAt  time.Time
}

// Entry is an entry of the log of sign-ins: the request and its result. It has neither names nor secrets.
type Entry struct {
	ID      int64
	At      time.Time
	Event   string // sign-in, authorize, sign-out, token, refresh, revoke, password, recovery, second-factor
	Result  string // success, or the reason
	Issuer  string
	Client  string // empty: unknown
	UserID  string // empty: unknown
	Address string // where the request came from
}

// Hash is the stored form of a code, a token, a session or a client's secret.
type Hash = [sha256.Size]byte

// NewSecret returns 32 random bytes in base64url, and the hash to store. A slow hash would add nothing to 256 random
// bits.
func NewSecret() (secret string, hash Hash) {
	var random [32]byte
	rand.Read(random[:])
	secret = base64.RawURLEncoding.EncodeToString(random[:])
	return secret, HashSecret(secret)
}

// HashSecret returns the hash of a secret of NewSecret.
func HashSecret(secret string) Hash { return sha256.Sum256([]byte(secret)) }
