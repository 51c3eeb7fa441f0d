package password

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// How many failures cost nothing, and what each further one costs: a second, doubled each time, to half a minute.
const (
	freeOfPair    = 3
	freeOfAddress = 20 // many people may share one
	firstDelay    = time.Second
	maxDelay      = 30 * time.Second
	forgotten     = time.Hour // after the last failure
	remembered    = 1 << 16   // pairs, and addresses
)

// Failures slows down whoever guesses passwords. They are counted for each account at each address, and for each address, never
// for an account alone: nobody can be locked out by somebody else. Nor is anybody locked out for good: after half a minute at most
// the next try is let through. It is safe for concurrent use.
type Failures struct {
	now func() time.Time

	mu        sync.Mutex
	pairs     *simplelru.LRU[digest, tally]
	addresses *simplelru.LRU[digest, tally]
}

type (
	digest = [sha256.Size]byte
	tally  struct {
		failures int
		last     time.Time
	}
)

// NewFailures makes one that knows of no failure.
func NewFailures(now func() time.Time) *Failures {
	f := &Failures{now: now}
	// The only error is that of a size that is not positive.
	f.pairs, _ = simplelru.NewLRU[digest, tally](remembered, nil)
	f.addresses, _ = simplelru.NewLRU[digest, tally](remembered, nil)
	return f
}

// Attempt is a try that was let through. It counts as a failure until it is said otherwise, so that many at the same time are
// no way around the delay.
type Attempt struct {
	failures      *Failures
	pair, address digest
	at            time.Time
	// The last failures before it.
	ofPair, ofAddress time.Time
}

// Try lets an attempt at an account from an address through, or says how long to wait before the next one: the answer is 429 then.
// The account is as the caller compares it, with its letters' case folded. An IPv6 address stands for its /64.
func (f *Failures) Try(account, address string) (a *Attempt, wait time.Duration) {
	network := networkOf(address)
	a = &Attempt{failures: f, pair: sha256.Sum256([]byte(network + "\x00" + account)), address: sha256.Sum256([]byte(network))}
	f.mu.Lock()
	defer f.mu.Unlock()
	pair, ofAddress := f.tally(f.pairs, a.pair), f.tally(f.addresses, a.address)
	now := f.now()
	wait = max(pair.wait(freeOfPair, now), ofAddress.wait(freeOfAddress, now))
	if wait > 0 {
		return nil, wait
	}
	a.at, a.ofPair, a.ofAddress = now, pair.last, ofAddress.last
	f.pairs.Add(a.pair, tally{pair.failures + 1, now})
	f.addresses.Add(a.address, tally{ofAddress.failures + 1, now})
	return a, 0
}

// Succeeded says that the password was right: what was counted for the account at this address is forgotten.
func (a *Attempt) Succeeded() {
	a.failures.mu.Lock()
	defer a.failures.mu.Unlock()
	a.failures.pairs.Remove(a.pair)
	a.takeBack(a.failures.addresses, a.address, a.ofAddress)
}

// Withdrawn says that the password was not looked at.
func (a *Attempt) Withdrawn() {
	a.failures.mu.Lock()
	defer a.failures.mu.Unlock()
	a.takeBack(a.failures.pairs, a.pair, a.ofPair)
	a.takeBack(a.failures.addresses, a.address, a.ofAddress)
}

func (f *Failures) tally(of *simplelru.LRU[digest, tally], key digest) tally {
	t, _ := of.Get(key)
	if f.now().Sub(t.last) >= forgotten {
		return tally{}
	}
	return t
}

// takeBack makes a tally what it was before the attempt, but for what others added meanwhile. The time goes back as well: where it
// stayed, those who know their passwords would renew the delay for all others at their address.
func (a *Attempt) takeBack(of *simplelru.LRU[digest, tally], key digest, before time.Time) {
	t, ok := of.Get(key)
	switch {
	case !ok:
	case t.failures == 1:
		of.Remove(key)
	case t.last.Equal(a.at):
		of.Add(key, tally{t.failures - 1, before})
	default:
		of.Add(key, tally{t.failures - 1, t.last})
	}
}

// wait is how long the next try has to wait.
func (t tally) wait(free int, now time.Time) time.Duration {
	if t.failures < free {
		return 0
	}
	delay := maxDelay
	if n := t.failures - free; n < 5 {
		delay = firstDelay << n
	}
	return max(0, t.last.Add(delay).Sub(now))
}

func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}
