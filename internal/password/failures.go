package password

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Some failures cost nothing. Each further one costs a delay: a second, doubled each time, up to half a minute.
const (
	freeOfPair    = 3
	freeOfAddress = 20 // many people may share one
	firstDelay    = time.Second
	maxDelay      = 30 * time.Second
	forgotten     = time.Hour // after the last failure
	remembered    = 1 << 16   // pairs, addresses, accounts, and pairs and addresses that succeeded
)

// maxDelayOfAddress is for all accounts at one address together: colleagues who mistype delay the others in their
// office briefly.
const maxDelayOfAddress = 4 * time.Second

// A site (/56) and an organization (/48) of IPv6 have many networks to guess from: 256 and 65,536. Failures are counted
// for both as well, and more of them cost nothing.
const (
	freeOfSite             = 100
	maxDelayOfSite         = 2 * time.Second
	freeOfOrganization     = 400
	maxDelayOfOrganization = time.Second
)

// These hold for an account by itself, for one-time passwords.
const (
	freeOfAccount      = 10
	maxDelayOfAccount  = 4 * time.Minute
	forgottenOfAccount = 24 * time.Hour
)

// Failures slows down password guessing. It counts failures per account and address, and per address, never per account
// by itself: nobody can lock out another user. Nor is anybody locked out for good: after half a minute at most the next
// try is allowed. An account that succeeded at an address before does not wait for the failures of others there, as
// long as its own cost nothing. For one-time passwords see TryCode: they are few enough to be guessed from many
// addresses. It is safe for concurrent use.
type Failures struct {
	now func() time.Time

	mu        sync.Mutex
	pairs     *counter
	addresses *counter
	sites     *counter // of IPv6
	larger    *counter // organizations of IPv6
	accounts  *counter
	known     *simplelru.LRU[digest, struct{}] // pairs and addresses that succeeded
}

// counter counts the failures of one kind.
type counter struct {
	*simplelru.LRU[digest, tally]
	free            int
	most, forgotten time.Duration
}

type (
	digest = [sha256.Size]byte
	tally  struct {
		failures int
		last     time.Time
	}
)

// NewFailures returns Failures without any.
func NewFailures(now func() time.Time) *Failures {
	f := &Failures{
		now:       now,
		pairs:     newCounter(freeOfPair, maxDelay, forgotten),
		addresses: newCounter(freeOfAddress, maxDelayOfAddress, forgotten),
		sites:     newCounter(freeOfSite, maxDelayOfSite, forgotten),
		larger:    newCounter(freeOfOrganization, maxDelayOfOrganization, forgotten),
		accounts:  newCounter(freeOfAccount, maxDelayOfAccount, forgottenOfAccount),
	}
	// It fails only for a size that is not positive.
	f.known, _ = simplelru.NewLRU[digest, struct{}](remembered, nil)
	return f
}

func newCounter(free int, most, forgotten time.Duration) *counter {
	kept, _ := simplelru.NewLRU[digest, tally](remembered, nil)
	return &counter{kept, free, most, forgotten}
}

// Attempt is an allowed try. It counts as a failure until it is reported otherwise, so that concurrent tries do not
// evade the delay.
type Attempt struct {
	failures *Failures
	at       time.Time
	counted  []counted
	network  string
	known    bool // someone succeeded at this address before
}

// counted names the counters of an attempt.
type counted struct {
	by     *counter
	key    digest
	before time.Time // the last failure before it
}

// Try allows an attempt at an account from an address, or returns how long to wait before the next one: the answer is
// 429 then. The account is in the form that the caller compares, with its case folded. An IPv6 address stands for its
// /64; failures count for its /56 and its /48 as well.
func (f *Failures) Try(account, address string) (a *Attempt, wait time.Duration) {
	return f.try(account, address, false)
}

// TryCode allows a try like Try, for a one-time password after the right password. It counts failures per account as
// well: only someone who knows the password can cause them, and from many addresses a million codes would soon be
// tried. The delay grows to four minutes, and is forgotten after a day. It does not apply at an address where the
// account succeeded before: guesses from elsewhere do not lock the user out.
func (f *Failures) TryCode(account, address string) (a *Attempt, wait time.Duration) {
	return f.try(account, address, true)
}

func (f *Failures) try(account, address string, code bool) (*Attempt, time.Duration) {
	network := NetworkOf(address)
	a := &Attempt{failures: f, network: network}
	pair, place := sha256.Sum256([]byte(network+"\x00"+account)), sha256.Sum256([]byte(network))
	f.mu.Lock()
	defer f.mu.Unlock()
	a.at = f.now()
	_, a.known = f.known.Get(place)
	_, here := f.known.Get(pair)
	a.counted = []counted{{by: f.pairs, key: pair}, {by: f.addresses, key: place}}
	if site, organization, ok := around(network); ok {
		a.counted = append(a.counted, counted{by: f.sites, key: sha256.Sum256([]byte(site))},
			counted{by: f.larger, key: sha256.Sum256([]byte(organization))})
	}
	if code && !here {
		a.counted = append(a.counted, counted{by: f.accounts, key: sha256.Sum256([]byte(account))})
	}
	here = here && f.pairs.tally(pair, a.at).failures < freeOfPair
	var wait time.Duration
	for n, c := range a.counted {
		t := c.by.tally(c.key, a.at)
		a.counted[n].before = t.last
		if !here || !f.shared(c.by) {
			wait = max(wait, c.by.wait(t, a.at))
		}
	}
	if wait > 0 {
		return nil, wait
	}
	for _, c := range a.counted {
		c.by.Add(c.key, tally{c.by.tally(c.key, a.at).failures + 1, a.at})
	}
	return a, 0
}

// Verify reports whether a password matches a string of Hash. An empty string stands for a user who does not exist: the
// result is false, after the same time. It waits for its turn; guesses at other addresses do not use up the turns of an
// address where someone succeeded before. Errors: ErrBusy, the error of ctx, and an error for a string that Hash never
// made.
func (a *Attempt) Verify(ctx context.Context, hash, plain string) (bool, error) {
	leave, err := turns.enter(ctx, a.network, a.known)
	if err != nil {
		return false, err
	}
	defer leave()
	return verify(hash, plain)
}

// Succeed reports that the password was right: failures of the account, at this address or by itself, are forgotten,
// and the success at this address is remembered.
func (a *Attempt) Succeed() {
	a.failures.mu.Lock()
	defer a.failures.mu.Unlock()
	for _, c := range a.counted {
		if a.failures.shared(c.by) {
			c.takeBack(a.at)
		} else {
			c.by.Remove(c.key)
		}
		if c.by == a.failures.pairs || c.by == a.failures.addresses {
			a.failures.known.Add(c.key, struct{}{})
		}
	}
}

// shared reports whether many people may share a key of a counter.
func (f *Failures) shared(c *counter) bool { return c == f.addresses || c == f.sites || c == f.larger }

// Withdraw reports that the password was not checked.
func (a *Attempt) Withdraw() {
	a.failures.mu.Lock()
	defer a.failures.mu.Unlock()
	for _, c := range a.counted {
		c.takeBack(a.at)
	}
}

func (c *counter) tally(key digest, now time.Time) tally {
	t, _ := c.Get(key)
	if now.Sub(t.last) >= c.forgotten {
		return tally{}
	}
	return t
}

// takeBack removes an attempt from a tally, and keeps the attempts that others added meanwhile. It also resets the
// time: otherwise successful users would renew the delay for all others at their address.
func (c counted) takeBack(at time.Time) {
	t, ok := c.by.Get(c.key)
	switch {
	case !ok:
	case t.failures == 1:
		c.by.Remove(c.key)
	case t.last.Equal(at):
		c.by.Add(c.key, tally{t.failures - 1, c.before})
	default:
		c.by.Add(c.key, tally{t.failures - 1, t.last})
	}
}

// wait returns how long the next try has to wait.
func (c *counter) wait(t tally, now time.Time) time.Duration {
	if t.failures < c.free {
		return 0
	}
	delay := c.most
	if n := t.failures - c.free; n < 16 { // so that the shift does not overflow a duration
		delay = min(delay, firstDelay<<n)
	}
	return max(0, t.last.Add(delay).Sub(now))
}

// NetworkOf returns the network of an address: an IPv4 address, or the /64 of an IPv6 address, which belongs to one
// subscriber. For an address of 6to4 (RFC 3056) it is the IPv4 address in it.
func NetworkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if in6 := ip.As16(); sixToFour.Contains(ip) {
		ip = netip.AddrFrom4([4]byte(in6[2:6]))
	}
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

var sixToFour = netip.MustParsePrefix("2002::/16")

// around returns the /56 and the /48 of a network of IPv6; false for other networks.
func around(network string) (site, organization string, ok bool) {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return "", "", false
	}
	return netip.PrefixFrom(p.Addr(), 56).Masked().String(), netip.PrefixFrom(p.Addr(), 48).Masked().String(), true
}
