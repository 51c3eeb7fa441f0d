package caddyfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A gate with nothing after it is warned of, unless its site has no host, as one that another server asks.
func TestValidateFindsLoneGates(t *testing.T) {
	const gate = `signin_gate {
		provider http://localhost:1/signin {
			client acme what-the-application-is-known-by
		}
		key "a text of more than thirty-two characters"
		allow any
	}
`
	valid := func(site string) []string {
		return warned(t, "{\n\tadmin off\n\thiregate {\n\t\tdev\n\t\tdatabase sqlite://"+t.TempDir()+"/gate.db\n\t}\n}\n"+site)
	}
	const other = "http://other.example:4180 {\n\trespond other\n}\n"
	for _, application := range []string{"reverse_proxy 127.0.0.1:3000", "respond hello", "handle /a/* {\n\t\trespond a\n\t}\n\theader X y",
		"header X y\n\troute {\n\t\trespond a\n\t}"} {
		require.Empty(t, valid("http://app.example:4180 {\n\t"+gate+"\t"+application+"\n}\n"), application)
	}
	require.Empty(t, valid("http://app.example:4180 {\n\thandle /app/* {\n\t"+gate+"\trespond a\n\t}\n}\n"))
	require.Empty(t, valid("http://app.example:4180 {\n\thandle /app/* {\n\t"+gate+"\t}\n\trespond a\n}\n"))
	for _, nothing := range []string{gate, gate + "\theader X y\n", "handle /app/* {\n\t" + gate + "\t}\n",
		"handle /app/* {\n\t" + gate + "\t}\n\thandle {\n\t\trespond other\n\t}\n",
		"handle /healthz {\n\t\trespond ok\n\t}\n\thandle {\n\t" + gate + "\t}\n", "route {\n\t" + gate + "\t}\n\tencode gzip\n"} {
		site := "http://app.example:4180 {\n\t" + nothing + "}\n" + other
		require.Equal(t, []string{"signin_gate at app.example has nothing after it: whoever is signed in gets an empty page. Add what serves " +
			"the application, such as `reverse_proxy 127.0.0.1:3000`; or, if another server asks the gate, leave the host out of " +
			"the site's address, such as http://:4180"}, valid(site), nothing)
		require.Empty(t, valid("http://:4181 {\n\t"+nothing+"}\n"+other), nothing)
	}
}

// A sign-in host that no site with a gate has is warned of: nobody could sign in.
func TestValidateFindsAbsentSignInHosts(t *testing.T) {
	const gate = `signin_gate {
		provider http://localhost:1/signin {
			client acme what-the-application-is-known-by
		}
		key "a text of more than thirty-two characters"
		allow any
		cookie_domain acme.example auth.acme.example
	}
	respond hello
}
`
	for sites, absent := range map[string]bool{
		"http://app.acme.example:4180 {\n" + gate:                                                           true,
		"http://app.acme.example:4180 {\n" + gate + "http://auth.acme.example:4180 {\n\trespond other\n}\n": true,
		"http://app.acme.example:4180, http://auth.acme.example:4180 {\n" + gate:                            false,
		"http://app.acme.example:4180 {\n" + gate + "http://auth.acme.example:4180 {\n" + gate:              false,
		"http://*.acme.example:4180 {\n" + gate:                                                             false,
		"http://:4180 {\n" + gate:                                                                           false,
	} {
		said := warned(t, "{\n\tadmin off\n\thiregate {\n\t\tdev\n\t\tdatabase sqlite://"+t.TempDir()+"/gate.db\n\t}\n}\n"+sites)
		if !absent {
			require.Empty(t, said, sites)
			continue
		}
		require.Equal(t, []string{"signin_gate sends people to auth.acme.example to sign in, and no site here has that host and the gate: " +
			"add it to the addresses of the site, unless another gateway has it"}, said, sites)
	}
}
