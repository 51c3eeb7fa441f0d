package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/egress"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/vault"
)

// examinedAtOnce limits the connections to integrations.
const examinedAtOnce = 16

// receiver is a host that integrations lead to, or have their tokens issued by, with the TLS settings of their own.
type receiver struct {
	origin string
	own    *model.ClientTLS
}

// receivers are the hosts that integrations lead to, in the order of these, with the integrations' names.
type receivers struct {
	order []receiver
	names map[receiver][]string
}

func (all *receivers) add(t *model.Tenant) {
	for _, i := range t.Integrations {
		name, a := t.Name+"/"+i.Name, i.Authentication
		if a == nil {
			a = new(model.Authentication)
		}
		to := model.URLOrigin(i.URL)
		all.addOne(receiver{to, a.TLS}, name)
		if a.OAuth2 != nil && model.URLOrigin(a.OAuth2.TokenURL) != to {
			all.addOne(receiver{origin: model.URLOrigin(a.OAuth2.TokenURL)}, name)
		}
	}
}

func (all *receivers) addOne(to receiver, name string) {
	if all.names[to] == nil {
		all.order = append(all.order, to)
	}
	all.names[to] = append(all.names[to], name)
}

// examineIntegrations connects to each host of the integrations, declared and stored, and of their token endpoints once,
// but for those with certificates of their own, and sends nothing.
func (g *Gateway) examineIntegrations(ctx context.Context) []Finding {
	all := receivers{names: map[receiver][]string{}}
	for _, t := range g.Config.Tenants {
		all.add(t)
	}
	stored, unread := g.storedTenants(ctx)
	for _, t := range stored {
		all.add(t)
	}
	found := make([][]Finding, len(all.order))
	places := make(chan struct{}, examinedAtOnce)
	var running sync.WaitGroup
	late := 0
	for n, to := range all.order {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			late++
			continue
		}
		running.Go(func() {
			defer func() { <-places }()
			found[n] = examineReceiver(ctx, g.Config.Egress, to, all.names[to])
		})
	}
	running.Wait()
	if late > 0 {
		found = append(found, []Finding{{"integrations", Warning, fmt.Sprintf("%d hosts were not looked at: there was no time left, "+
			"since others did not answer", late)}})
	}
	return slices.Concat(append(found, unread)...)
}

// storedTenants reads the tenants that are stored. The findings say why they can't be read.
func (g *Gateway) storedTenants(ctx context.Context) ([]*model.Tenant, []Finding) {
	const subject = "stored integrations"
	keys := g.Vault
	if keys == nil {
		keys = new(vault.Vault)
	}
	all, err := store.PeekTenants(ctx, g.Runtime.database.Address, keys)
	switch {
	case err == nil:
		return all, nil
	case errors.Is(err, store.ErrSealed):
		return nil, verdict(subject, err, "")
	}
	return nil, []Finding{{subject, Warning, "they were not looked at, since they can't be read; where the database is of an earlier " +
		"version, look again once this one has started: " + err.Error()}}
}

func examineReceiver(ctx context.Context, guard *egress.Guard, to receiver, integrations []string) []Finding {
	subject := integrations[0]
	if more := len(integrations) - 1; more > 0 {
		subject = fmt.Sprintf("%s and %d more", subject, more)
	}
	var config *tls.Config
	if to.own != nil {
		var err error
		if config, err = to.own.Config(); err != nil {
			return verdict(subject, err, "")
		}
	}
	own := ownCertificate(subject, to.own)
	state, err := guard.Connect(ctx, to.origin, config)
	if refused := new(egress.RefusedError); errors.As(err, &refused) {
		err = errors.New(refused.Detail())
	}
	if err != nil {
		return append(verdict(subject, fmt.Errorf("%s can't be reached: %w", to.origin, err), ""), own...)
	}
	found := append(verdict(subject, nil, to.origin+" can be reached"+until(state)), expiring(subject, state)...)
	return append(found, own...)
}

// ownCertificate says that the certificate that a receiver is shown ended, or will end soon.
func ownCertificate(subject string, t *model.ClientTLS) []Finding {
	end := (&model.Authentication{TLS: t}).CertificateEnd()
	now := time.Now()
	if !endsSoon(end, now) {
		return nil
	}
	verdict, ends := Warning, "ends"
	if !end.After(now) {
		verdict, ends = Bad, "ended"
	}
	return []Finding{{subject, verdict, fmt.Sprintf("its client certificate %s at %s: renew it in tls of the integration's "+
		"authentication", ends, end.UTC().Format(time.RFC3339))}}
}
