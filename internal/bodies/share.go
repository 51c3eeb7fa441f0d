package bodies

import (
	"net/netip"
	"slices"
	"time"
)

const (
	// graceTime is how long a body is safe from being ended for another.
	graceTime = time.Second
	// roomWithin bounds how long a body waits for the memory of those that end for it.
	roomWithin = time.Second
	// mostWaiting is how many bodies wait at once for others to end: what waits takes memory as well.
	mostWaiting = 64
)

// share counts the memory of the bodies that come from one address to one tenant.
type share struct {
	held    int64
	reading []*Body // in order of arrival
}

// note counts what a body took. From then on it may be ended for another.
func (b *Bodies) note(body *Body, units int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body.charged += units
	if body.ended {
		return
	}
	if body.share == nil {
		addresses := b.shares[body.sender.Tenant]
		if addresses == nil {
			addresses = map[string]*share{}
			b.shares[body.sender.Tenant] = addresses
		}
		if body.share = addresses[body.sender.Address]; body.share == nil {
			body.share = new(share)
			addresses[body.sender.Address] = body.share
		}
		body.share.reading = append(body.share.reading, body)
	}
	body.share.held += units
}

// leave notes that a body is there, or will never be; from now on its request takes no memory beside it. It reports
// whether the body was ended for another.
func (b *Bodies) leave(body *Body) (ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if body.share != nil && !body.ended {
		b.remove(body)
	}
	body.giveBack(body.charged - int64(cap(body.bytes)))
	return body.ended
}

func (b *Bodies) remove(body *Body) {
	s, addresses := body.share, b.shares[body.sender.Tenant]
	n := slices.Index(s.reading, body)
	s.reading = slices.Delete(s.reading, n, n+1)
	s.held -= body.charged
	if len(s.reading) == 0 {
		delete(addresses, body.sender.Address)
	}
	if len(addresses) == 0 {
		delete(b.shares, body.sender.Tenant)
	}
}

// waitForRoom has others end for a body, and takes so many bytes of what they held. It reports whether it did.
func (b *Bodies) waitForRoom(body *Body, need int64) bool {
	if !b.makeRoom(body, need) {
		return false
	}
	defer func() {
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
	}()
	return b.pool.Acquire(body.request, body.sender.Tenant, need, roomWithin)
}

// makeRoom ends the bodies of the same tenant that have waited longest, at the address that holds most, so that there
// are so many bytes for another. It reports whether there will be; then one more is waiting.
func (b *Bodies) makeRoom(body *Body, need int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == mostWaiting {
		return false
	}
	addresses := b.shares[body.sender.Tenant]
	own := addresses[body.sender.Address]
	if own == nil {
		own = new(share)
	}
	latest := time.Now().Add(-graceTime)
	freed, next := map[*share]int64{}, map[*share]int{}
	left := func(s *share) int64 { return s.held - freed[s] }
	var victims []*Body
	for room := int64(0); room < need; {
		fullest := own
		for _, s := range addresses {
			if s != own && left(s) > max(left(fullest), left(own)+need) {
				fullest = s
			}
		}
		n := next[fullest]
		if n < len(fullest.reading) && fullest.reading[n] == body {
			n++
		}
		if n >= len(fullest.reading) || !fullest.reading[n].began.Before(latest) {
			return false
		}
		next[fullest] = n + 1
		victim := fullest.reading[n]
		victims = append(victims, victim)
		freed[fullest] += victim.charged
		room += victim.charged
	}
	for _, victim := range victims {
		b.remove(victim)
		victim.ended = true
		_ = victim.connection.SetReadDeadline(time.Unix(1, 0)) // a body without a connection never waits long
	}
	b.waiting++
	return true
}

// network is the part of an address that stands for one sender: all of an IPv4 address, and the first 64 bits of an
// IPv6 address, since a sender has all those behind.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		prefix, _ := ip.Prefix(64)
		return prefix.String()
	}
	return ip.String()
}
