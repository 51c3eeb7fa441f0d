package identity

import "strings"

// gates begins the address of a gate. Those of consoles are URLs.
const gates = "gate "

// GateAddress returns the address of a gate, for ConsoleSession.Console. A session is one of a site, a provider and an
// application there: elsewhere it is none.
func GateAddress(site, issuer, client string) string {
	return gates + site + " " + issuer + " " + client
}

// GatesOf begins the addresses of all gates of a site.
func GatesOf(site string) string { return gates + site + " " }

// Site returns where a person is signed in: the address of a console, or the one below which a gate has its own.
func (s *ConsoleSession) Site() string {
	if gate, ok := strings.CutPrefix(s.Console, gates); ok {
		site, _, _ := strings.Cut(gate, " ")
		return site
	}
	return s.Console
}
