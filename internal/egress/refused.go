package egress

import (
	"fmt"
	"net/netip"

	"code.dny.dev/ssrf"
)

// The classes of refusal: of the address itself, or of the way it was to be reached.
const (
	ClassLoopback    = "loopback"
	ClassPrivate     = "private"
	ClassLinkLocal   = "link-local"
	ClassCGNAT       = "carrier-grade NAT"
	ClassMulticast   = "multicast"
	ClassUnspecified = "unspecified"
	ClassNAT64       = "NAT64"
	ClassMapped      = "IPv4-mapped"
	ClassReserved    = "reserved"

	ClassPort  = "port"       // a public address, but neither port 80 nor 443
	ClassPlain = "plain http" // a public address, but not over https
)

// RefusedError says that the guard let no connection be made, why, and how that can be changed. Class is one of the
// constants.
type RefusedError struct {
	To    netip.AddrPort
	Class string
}

// RefusedByEgress lets callers recognize this error without importing this package.
func (e *RefusedError) RefusedByEgress() bool { return true }

// Error returns a sentence for the person who gave the address or the host name. It does not name the address that a
// host name has here, which may be one of the operator's network: Detail does.
func (e *RefusedError) Error() string {
	if e.Class == ClassMapped {
		return "the address is an IPv4 address in IPv6 form: use the IPv4 address"
	}
	return e.why("the address") + ", or let the operator open it with `egress allow`"
}

// Detail names the address that was refused, for the operator.
func (e *RefusedError) Detail() string {
	if e.Class == ClassMapped {
		return fmt.Sprintf("%v is an IPv4 address in IPv6 form: use the IPv4 address", e.To)
	}
	return fmt.Sprintf("%s, or let the operator write `egress allow %v %d`", e.why(e.To.String()), e.To.Addr(),
		e.To.Port())
}

// why says of an address why it was refused.
func (e *RefusedError) why(address string) string {
	switch e.Class {
	case ClassPort:
		return address + " is on neither port 80 nor 443, which alone are open: use one of them"
	case ClassPlain:
		return address + " is to be reached by plain http: use https"
	}
	return fmt.Sprintf("%s is not a public but a %s address: use a public one", address, e.Class)
}

var (
	cgnat      = netip.MustParsePrefix("100.64.0.0/10")  // RFC 6598
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
)

// Public reports whether an address is one of the internet, whatever a policy opens.
func Public(ip netip.Addr) bool { return ssrf.New().SafeAddr(ip.WithZone("")) == nil }

// classOf names what kind of address a refused one is. What ssrf refuses and has no name here is reserved.
func classOf(ip netip.Addr) string {
	switch {
	case ip.Is4In6(): // first: netip's own questions look through the mapping
		return ClassMapped
	case ip.IsLoopback():
		return ClassLoopback
	case ip.IsPrivate():
		return ClassPrivate
	case ip.IsLinkLocalUnicast():
		return ClassLinkLocal
	case cgnat.Contains(ip):
		return ClassCGNAT
	case ip.IsMulticast():
		return ClassMulticast
	case ip.IsUnspecified():
		return ClassUnspecified
	case ssrf.IPv6NAT64Prefix.Contains(ip), localNAT64.Contains(ip):
		return ClassNAT64
	default:
		return ClassReserved
	}
}
