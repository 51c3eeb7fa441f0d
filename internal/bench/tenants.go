package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	slowAnswer = 12 * time.Second // of the partner of the tenant that loads
	few        = 20               // exports of the tenant that is measured
	fewRounds  = 25
)

// tenants measures how long a few exports of one tenant take to their partner while another one has slow partners:
// beside the same at a gateway that does nothing else, in turn, since the machine is shared.
func (b *bench) tenants() error {
	for _, load := range []struct {
		name                          string
		integrations, exports, filler int
		option                        string
	}{
		{"one integration, in_flight 1000, 1,000 exports", 1, 1000, 0, "in_flight 1000"},
		{"20 integrations, 100 exports to each", 20, 100, 0, ""},
		{"200 exports of 4.9 MB", 1, 200, 4_900_000, "in_flight 1000"},
	} {
		idle, err := b.newShared(0, "")
		if err != nil {
			return err
		}
		loaded, err := b.newShared(load.integrations, load.option)
		if err != nil {
			idle.stop()
			return err
		}
		without, with, err := inTurn(idle, loaded, load.exports, load.filler)
		idle.stop()
		loaded.stop()
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d exports of another tenant took %s, without the load %s (medians of %d): %.2f times\n", load.name,
			few,
			with.Round(time.Millisecond), without.Round(time.Millisecond), fewRounds, float64(with)/float64(without))
	}
	return nil
}

func inTurn(idle, loaded *shared, exports, filler int) (without, with time.Duration, err error) {
	if err := loaded.hand("acme", exports, filler); err != nil {
		return 0, 0, err
	}
	if err := eventually(5*time.Minute, func() error {
		time.Sleep(2 * time.Second) // the gauge is set once a second
		waiting, err := loaded.server.metric("hiregate_inbox_undispatched")
		if err == nil && waiting > 0 {
			err = fmt.Errorf("%.0f exports wait for their workflow", waiting)
		}
		return err
	}); err != nil {
		return 0, 0, err
	}
	var alone, beside []time.Duration
	for round := range fewRounds {
		for one, took := range map[*shared]*[]time.Duration{idle: &alone, loaded: &beside} {
			began := time.Now()
			if err := one.hand("globex", few, 0); err != nil {
				return 0, 0, err
			}
			if err := eventually(5*time.Minute, func() error { return one.partner.arrived((round + 1) * few) }); err != nil {
				return 0, 0, err
			}
			_, last := one.partner.count()
			*took = append(*took, last.Sub(began))
		}
		time.Sleep(time.Second)
	}
	slices.Sort(alone)
	slices.Sort(beside)
	return alone[fewRounds/2], beside[fewRounds/2], nil
}

// shared is a gateway with two tenants: acme, whose partners are slow, and globex, whose exports the partner counts.
type shared struct {
	server  *server
	partner *partner
	stop    func()
}

func (b *bench) newShared(integrations int, option string) (*shared, error) {
	partner, at, err := newPartner()
	if err != nil {
		return nil, err
	}
	var slow strings.Builder
	for n := range integrations {
		slow.WriteString(integrationTo(fmt.Sprint("hris-", n), at+"/slow", option))
	}
	temporal, stopTemporal, err := b.startTemporal()
	if err != nil {
		return nil, err
	}
	s, err := b.serve(options{site: gatewaySite, temporal: temporal, acme: slow.String(),
		others: "tenant globex {\nsecret " + secret + "\n" + integrationTo("hris", at+"/fast", "") + "}"})
	if err != nil {
		stopTemporal()
		return nil, err
	}
	return &shared{s, partner, func() { s.command.Process.Kill(); s.stop(); stopTemporal(); partner.Close() }}, nil
}

func integrationTo(name, where, option string) string {
	return "integration " + name + " {\nurl http://" + where + "\nsecret " + secret + "\nverify off\n" + option + "\n}\n"
}

// hand sends exports of a tenant, each with so many bytes of filler.
func (s *shared) hand(tenant string, exports, filler int) error {
	body := []byte(`{"candidate":{"person":{"id":{"value":"c","schemeId":"Service Candidate","schemeAgencyId":"Service"}},"filler":"` +
		strings.Repeat("x", filler) + `"}}`)
	sender, err := dial(s.server.address, signed(body), 1)
	if err != nil {
		return err
	}
	defer sender.close()
	return sender.export(tenant, body, exports)
}
