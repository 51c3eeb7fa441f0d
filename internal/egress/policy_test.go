package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func allow(t *testing.T, args ...string) Policy {
	t.Helper()
	a, err := ParseAllow(args)
	require.NoError(t, err)
	return Policy{Allow: []Allowance{a}}
}

func TestParseAllow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want Allowance
	}{
		{[]string{"10.0.0.0/8"}, Allowance{Prefix: netip.MustParsePrefix("10.0.0.0/8")}},
		{[]string{"10.0.0.5"}, Allowance{Prefix: netip.MustParsePrefix("10.0.0.5/32")}},
		{[]string{"::1"}, Allowance{Prefix: netip.MustParsePrefix("::1/128")}},
		{[]string{"fd00::/8", "443"}, Allowance{netip.MustParsePrefix("fd00::/8"), []uint16{443}}},
		{[]string{"127.0.0.1", "8080", "8090"}, Allowance{netip.MustParsePrefix("127.0.0.1/32"), []uint16{8080, 8090}}},
		{[]string{"127.0.0.1", "80,8080,", "1", ",65535"}, Allowance{netip.MustParsePrefix("127.0.0.1/32"),
			[]uint16{80, 8080, 1, 65535}}},
		{[]string{"0.0.0.0/0"}, Allowance{Prefix: netip.MustParsePrefix("0.0.0.0/0")}},
	} {
		got, err := ParseAllow(c.args)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "egress allow needs a range of addresses: write `egress allow 10.0.0.0/8`"},
		{[]string{"localhost"}, `"localhost" is neither a range of addresses nor an address`},
		{[]string{"10.0.0.0/33"}, "neither a range of addresses nor an address"},
		{[]string{"10.0"}, "neither a range of addresses nor an address"},
		{[]string{"10.0.0.1:80"}, "neither a range of addresses nor an address"},
		{[]string{"fe80::1%eth0"}, "neither a range of addresses nor an address"},
		{[]string{"10.0.0.1/8"}, `"10.0.0.1/8" has bits set behind its prefix: write 10.0.0.0/8 for the range`},
		{[]string{"::ffff:10.0.0.1"}, "is an IPv4 address in IPv6 form"},
		{[]string{"::ffff:10.0.0.0/104"}, "is an IPv4 address in IPv6 form"},
		{[]string{"10.0.0.0/8", "http"}, `"http" is not a port: use numbers from 1 to 65535`},
		{[]string{"10.0.0.0/8", "0"}, `"0" is not a port`},
		{[]string{"10.0.0.0/8", "80,65536"}, `"65536" is not a port`},
		{[]string{"10.0.0.0/8", "80-90"}, `"80-90" is not a port`},
		{[]string{"10.0.0.0/8", ","}, `"," names no port`},
		{[]string{"10.0.0.0/8", ""}, `"" names no port`},
	} {
		_, err := ParseAllow(c.args)
		require.ErrorContains(t, err, c.want, "%q", c.args)
	}
}
