package egress

import (
	"net/netip"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
	"github.com/stretchr/testify/require"
)

// dial asks the functions that the dialers of both transports ask.
func dial(g *Guard, scheme, address string) error {
	network := "tcp4"
	if strings.HasPrefix(address, "[") {
		network = "tcp6"
	}
	if scheme == "http" {
		return g.controlPlain(network, address, nil)
	}
	return g.controlSecure(network, address, nil)
}

func requireRefused(t *testing.T, err error, class string) {
	t.Helper()
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, class, refused.Class, "%v", err)
	require.True(t, refused.RefusedByEgress())
}

func TestAddressesRefusedByDefault(t *testing.T) {
	t.Parallel()
	g := New(Policy{})
	for ip, class := range map[string]string{
		"127.0.0.1":          ClassLoopback,
		"127.255.255.254":    ClassLoopback,
		"::1":                ClassLoopback,
		"10.0.0.0":           ClassPrivate,
		"10.255.255.255":     ClassPrivate,
		"172.16.0.1":         ClassPrivate,
		"172.31.255.255":     ClassPrivate,
		"192.168.0.1":        ClassPrivate,
		"fc00::1":            ClassPrivate,
		"fdff::1":            ClassPrivate,
		"169.254.169.254":    ClassLinkLocal, // where clouds serve credentials
		"fe80::1":            ClassLinkLocal,
		"fe80::1%eth0":       ClassLinkLocal,
		"febf::1":            ClassLinkLocal,
		"100.64.0.1":         ClassCGNAT,
		"100.127.255.255":    ClassCGNAT,
		"224.0.0.1":          ClassMulticast,
		"239.255.255.255":    ClassMulticast,
		"ff02::1":            ClassMulticast,
		"0.0.0.0":            ClassUnspecified,
		"::":                 ClassUnspecified,
		"64:ff9b::7f00:1":    ClassNAT64,
		"64:ff9b::808:808":   ClassNAT64, // of a public address, too
		"64:ff9b:1::7f00:1":  ClassNAT64,
		"::ffff:127.0.0.1":   ClassMapped,
		"::ffff:10.0.0.1":    ClassMapped,
		"::ffff:8.8.8.8":     ClassMapped,
		"::127.0.0.1":        ClassReserved, // RFC 4291's IPv4-compatible form
		"0.1.2.3":            ClassReserved,
		"192.0.2.1":          ClassReserved,
		"198.18.0.1":         ClassReserved,
		"203.0.113.1":        ClassReserved,
		"240.0.0.1":          ClassReserved,
		"255.255.255.255":    ClassReserved,
		"2001:db8::1":        ClassReserved,
		"2001:0:7f00:1::":    ClassReserved, // Teredo
		"2002:7f00:1::":      ClassReserved, // 6to4 of 127.0.0.1
		"fec0::1":            ClassReserved, // site-local of old
		"100::1":             ClassReserved,
		"5f00::1":            ClassReserved,
		"3fff::1":            ClassReserved,
		"2620:4f:8000::1":    ClassReserved,
		"192.88.99.1":        ClassReserved,
		"::ffff:0:127.0.0.1": ClassReserved, // RFC 2765's IPv4-translated form
	} {
		for _, scheme := range []string{"https", "http"} {
			for _, port := range []uint16{80, 443, 8080} {
				address := netip.AddrPortFrom(netip.MustParseAddr(ip), port).String()
				requireRefused(t, dial(g, scheme, address), class)
			}
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	g := New(Policy{})
	for _, ip := range []string{
		"8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.1", "192.167.255.255", "192.169.0.1",
		"169.253.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001:829::200e",
	} {
		to := func(port uint16) string { return netip.AddrPortFrom(netip.MustParseAddr(ip), port).String() }
		require.NoError(t, dial(g, "https", to(443)))
		require.NoError(t, dial(g, "https", to(80)))
		for _, port := range []uint16{22, 25, 81, 444, 8080, 8443, 65535} {
			requireRefused(t, dial(g, "https", to(port)), ClassPort)
			requireRefused(t, dial(g, "http", to(port)), ClassPort)
		}
		requireRefused(t, dial(g, "http", to(80)), ClassPlain)
		requireRefused(t, dial(g, "http", to(443)), ClassPlain)
	}
}

func TestAllowanceWithoutPortsOpensEveryPort(t *testing.T) {
	t.Parallel()
	g := New(allow(t, "10.1.0.0/16"))
	for _, scheme := range []string{"https", "http"} {
		for _, address := range []string{"10.1.0.0:80", "10.1.2.3:443", "10.1.255.255:22", "10.1.0.1:65535"} {
			require.NoError(t, dial(g, scheme, address))
		}
		requireRefused(t, dial(g, scheme, "10.0.255.255:443"), ClassPrivate)
		requireRefused(t, dial(g, scheme, "10.2.0.0:443"), ClassPrivate)
		requireRefused(t, dial(g, scheme, "[::ffff:10.1.0.1]:443"), ClassMapped)
		requireRefused(t, dial(g, scheme, "[64:ff9b::a01:1]:443"), ClassNAT64)
	}
}

func TestAllowanceWithPortsOpensThose(t *testing.T) {
	t.Parallel()
	g := New(allow(t, "127.0.0.1", "8080,8090"))
	for _, scheme := range []string{"https", "http"} {
		require.NoError(t, dial(g, scheme, "127.0.0.1:8080"))
		require.NoError(t, dial(g, scheme, "127.0.0.1:8090"))
		requireRefused(t, dial(g, scheme, "127.0.0.1:443"), ClassLoopback)
		requireRefused(t, dial(g, scheme, "127.0.0.1:8081"), ClassLoopback)
		requireRefused(t, dial(g, scheme, "127.0.0.2:8080"), ClassLoopback)
		requireRefused(t, dial(g, scheme, "[::1]:8080"), ClassLoopback)
	}
}

func TestAllowanceOfAPublicAddress(t *testing.T) {
	t.Parallel()
	g := New(allow(t, "8.8.8.8", "8443"))
	require.NoError(t, dial(g, "https", "8.8.8.8:8443"))
	require.NoError(t, dial(g, "http", "8.8.8.8:8443"))
	require.NoError(t, dial(g, "https", "8.8.8.8:443"), "an allowance takes nothing away")
	requireRefused(t, dial(g, "http", "8.8.8.8:80"), ClassPlain)
	requireRefused(t, dial(g, "https", "8.8.4.4:8443"), ClassPort)
}

func TestAllowancesAddUp(t *testing.T) {
	t.Parallel()
	g := New(Policy{Allow: append(allow(t, "10.0.0.1", "80").Allow, allow(t, "fe80::/10").Allow...)})
	require.NoError(t, dial(g, "http", "10.0.0.1:80"))
	require.NoError(t, dial(g, "http", "[fe80::1]:80"))
	require.NoError(t, dial(g, "http", "[fe80::1%eth0]:80"), "a zone does not lead out of a range")
	requireRefused(t, dial(g, "http", "10.0.0.1:81"), ClassPrivate)
}

func TestAddressThatCannotBeRead(t *testing.T) {
	t.Parallel()
	g := New(allow(t, "0.0.0.0/0"))
	require.Error(t, dial(g, "https", "partner.example:443"))
	require.Error(t, dial(g, "https", "8.8.8.8"))
}

func TestRefusalSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]RefusedError{
		"10.0.0.5:8443 is not a public but a private address: use a public one, or let the operator write `egress " +
			"allow 10.0.0.5 8443`": {
			netip.MustParseAddrPort("10.0.0.5:8443"), ClassPrivate,
		},
		"[::1]:443 is not a public but a loopback address: use a public one, or let the operator write " +
			"`egress allow ::1 443`": {
			netip.MustParseAddrPort("[::1]:443"), ClassLoopback,
		},
		"8.8.8.8:22 is on neither port 80 nor 443, which alone are open: use one of them, or let the operator write " +
			"`egress allow 8.8.8.8 22`": {
			netip.MustParseAddrPort("8.8.8.8:22"), ClassPort,
		},
		"8.8.8.8:80 is to be reached by plain http: use https, or let the operator write `egress allow 8.8.8.8 80`": {
			netip.MustParseAddrPort("8.8.8.8:80"), ClassPlain,
		},
		"[::ffff:127.0.0.1]:80 is an IPv4 address in IPv6 form: use the IPv4 address": {
			netip.MustParseAddrPort("[::ffff:127.0.0.1]:80"), ClassMapped,
		},
	} {
		require.Equal(t, want, e.Detail())
		require.NotContains(t, e.Error(), e.To.Addr().String(), "tenants read it")
		require.Contains(t, e.Error(), ": use ")
		if e.Class != ClassMapped { // the advice works
			_, args, _ := strings.Cut(strings.TrimSuffix(want, "`"), "`egress allow ")
			require.NoError(t, New(allow(t, strings.Fields(args)...)).check("http", e.To))
		}
	}
}

// TestLibraryKnowsTheRanges fails when a new version of ssrf loosens what this package relies on.
func TestLibraryKnowsTheRanges(t *testing.T) {
	t.Parallel()
	require.Subset(t, ssrf.IPv4DeniedPrefixes, []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("240.0.0.0/4"),
	})
	require.Equal(t, netip.MustParsePrefix("2000::/3"), ssrf.IPv6GlobalUnicast)
}
