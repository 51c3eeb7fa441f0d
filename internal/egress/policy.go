package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// Policy allows or denies addresses beyond the default, which is every public address over https, on ports 80 and 443.
// The zero value is the default.
type Policy struct {
	Allow []Allowance `json:"allow,omitempty"`
	// Log tells the operator which addresses are refused; nil: nothing does. Errors don't name them.
	Log *zap.Logger `json:"-"`
}

// Allowance opens a range of addresses: over https and plain http, on its ports, or on every port where it names none.
type Allowance struct {
	Prefix netip.Prefix `json:"prefix"`
	Ports  []uint16     `json:"ports,omitempty"`
}

// ParseAllow reads the arguments of `egress allow CIDR [ports…]`. A bare address stands for itself; ports are
// numbers, separated by spaces, commas or both.
func ParseAllow(args []string) (Allowance, error) {
	if len(args) == 0 {
		return Allowance{}, errors.New("egress allow needs a range of addresses: write `egress allow 10.0.0.0/8` or " +
			"`egress allow 10.0.0.5 8080`")
	}
	prefix, err := parsePrefix(args[0])
	if err != nil {
		return Allowance{}, err
	}
	a := Allowance{Prefix: prefix}
	for _, word := range strings.FieldsFunc(strings.Join(args[1:], ","), func(r rune) bool { return r == ',' }) {
		port, err := strconv.ParseUint(word, 10, 16)
		if err != nil || port == 0 {
			return Allowance{}, fmt.Errorf("egress allow: %q is not a port: use numbers from 1 to 65535", word)
		}
		a.Ports = append(a.Ports, uint16(port))
	}
	if len(args) > 1 && len(a.Ports) == 0 { // only commas: not meant as "every port"
		return Allowance{}, fmt.Errorf("egress allow: %q names no port: use numbers from 1 to 65535",
			strings.Join(args[1:], " "))
	}
	return a, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if ip, ipErr := netip.ParseAddr(s); ipErr == nil && ip.Zone() == "" {
		prefix, err = netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("egress allow: %q is neither a range of addresses nor an address: write it as "+
			"10.0.0.0/8, fd00::/8 or 10.0.0.5", s)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("egress allow: %q is an IPv4 address in IPv6 form, which is never "+
			"dialled: write it as IPv4", s)
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("egress allow: %q has bits set behind its prefix: write %v for the range, "+
			"or the address alone", s, prefix.Masked())
	}
	return prefix, nil
}

func (a Allowance) covers(to netip.AddrPort) bool {
	return a.Prefix.Contains(to.Addr()) && a.coversPort(to.Port())
}

func (a Allowance) coversPort(port uint16) bool {
	return len(a.Ports) == 0 || slices.Contains(a.Ports, port)
}

func (p Policy) covers(to netip.AddrPort) bool {
	return slices.ContainsFunc(p.Allow, func(a Allowance) bool { return a.covers(to) })
}

func (p Policy) coversPort(port uint16) bool {
	return slices.ContainsFunc(p.Allow, func(a Allowance) bool { return a.coversPort(port) })
}
