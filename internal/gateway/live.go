package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/sample"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/workflows"
)

// Finding is one result of an examination.
type Finding struct {
	Subject string  `json:"subject"` // such as "database"
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found"` // a sentence; where it is not OK, with what to do
}

// Verdict says whether a finding keeps the gateway from its work.
type Verdict string

// Verdicts.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning"
	Bad     Verdict = "failed"
)

const (
	// ExamineWithin limits an examination.
	ExamineWithin = 30 * time.Second
	// tolerated is how far our clock may be from the database's.
	tolerated = 2 * time.Second
)

// Examine asks what only the real world answers of a configuration that is not running here: whether the database, the
// documents and Temporal can be used, the world reaches public_url, the addresses of the integrations can be reached, and
// the services of relayed tenants let their users sign in; for sign-in alone, the database. It changes nothing but for a document that it writes and
// removes, sends no event, and may be called while gateways run. It needs up to ExamineWithin.
func (g *Gateway) Examine(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, ExamineWithin)
	defer cancel()
	parts := []func(context.Context) []Finding{g.examineDatabase, g.examineDocuments, g.examineTemporal, g.examinePublicURL,
		g.examineIntegrations, g.examineUpstreams, g.examineHelpers}
	if g.Runtime.Settings.SignInAlone() {
		parts = parts[:1]
	}
	found := make([][]Finding, len(parts))
	var all sync.WaitGroup
	for n, part := range parts {
		all.Go(func() { found[n] = part(ctx) })
	}
	all.Wait()
	return slices.Concat(found...)
}

// verdict is a finding of a subject, from what went wrong.
func verdict(subject string, err error, found string) []Finding {
	if err != nil {
		return []Finding{{subject, Bad, err.Error()}}
	}
	return []Finding{{subject, OK, found}}
}

func (g *Gateway) examineDatabase(ctx context.Context) []Finding {
	trial, err := store.Try(ctx, g.Runtime.database.Address)
	found := trial.Server + ": its tables can be made and changed"
	if trial.New {
		found += "; it is new"
	}
	all := verdict("database", err, found)
	switch away := trial.Ahead.Abs().Round(time.Millisecond); {
	case err != nil, trial.Ahead == 0:
	case away > tolerated:
		all = append(all, Finding{"clock", Bad, fmt.Sprintf("the clock of this machine and the database's are %s apart: have both "+
			"set by NTP", away)})
	default:
		all = append(all, Finding{"clock", OK, fmt.Sprintf("%s from the database's", away)})
	}
	if trial.Unsafe != "" {
		all = append(all, Finding{"database", Warning, "a power cut can lose acknowledged exports, since " + trial.Unsafe})
	}
	return all
}

func (g *Gateway) examineDocuments(context.Context) []Finding {
	err := g.Runtime.files.Check()
	if errors.Is(err, fs.ErrNotExist) {
		return []Finding{{"documents", Warning, "the folder is not there yet: the gateway makes it at its start, if its user may"}}
	}
	as := ""
	if u, err := user.Current(); err == nil {
		as = " as user " + u.Username
	}
	return verdict("documents", err, "a document was written and removed"+as)
}

func (g *Gateway) examineTemporal(ctx context.Context) []Finding {
	r := g.Runtime
	if !r.reachable(ctx) {
		return []Finding{{"temporal", Bad, fmt.Sprintf("nothing answers at %s: start Temporal, or correct its address; until then "+
			"exports are accepted and wait", r.Settings.Temporal)}}
	}
	err := describeNamespace(ctx, r.client, r.Settings.Namespace)
	if err == nil {
		err = r.peekMark(ctx, g.Config)
	}
	if fault := new(TemporalFault); errors.As(err, &fault) {
		return []Finding{{"temporal", Bad, fault.Reason}}
	}
	all := verdict("temporal", err, "namespace "+r.Settings.Namespace+" is there, and no other database's")
	switch missing, err := workflows.MissingAttributes(context.WithValue(ctx, unbarred{}, true), r.client, r.Settings.Namespace); {
	case err != nil:
		all = append(all, Finding{"search attributes", Warning, "they can't be listed: workflows run, but are not found by tenant and " +
			"export: " + err.Error()})
	case len(missing) > 0:
		all = append(all, Finding{"search attributes", Warning, "the gateway adds them at its start, or an administrator of Temporal " +
			"where it may not: " + strings.Join(missing, ", ")})
	default:
		all = append(all, Finding{"search attributes", OK, "all are registered"})
	}
	return all
}

// examinePublicURL asks for the sample document, as partners ask for those of exports.
func (g *Gateway) examinePublicURL(ctx context.Context) []Finding {
	const subject = "public_url"
	at, err := url.Parse(g.Config.PublicURL)
	if err != nil {
		return verdict(subject, err, "")
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", at.Hostname())
	if err != nil {
		return verdict(subject, fmt.Errorf("the host of %s has no address: add its record to the DNS: %w", g.Config.PublicURL, err), "")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath("documents", sample.DocumentToken).String(), nil)
	if err != nil {
		return verdict(subject, err, "")
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return verdict(subject, fmt.Errorf("partners would not get documents: start a gateway there, and let 443 through to it: %w", err), "")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return verdict(subject, fmt.Errorf("%s/documents answers %d to the sample document: no hiregate answers there, or none that serves "+
			"documents", g.Config.PublicURL, resp.StatusCode), "")
	}
	all := verdict(subject, nil, "a gateway serves documents there"+until(resp.TLS))
	if private := slices.IndexFunc(addresses, notPublic); private >= 0 {
		all = append(all, Finding{subject, Warning, fmt.Sprintf("its host has the address %s here, which the world does not reach: look at "+
			"it from outside", addresses[private].Unmap())})
	}
	return append(all, expiring(subject, resp.TLS)...)
}

func notPublic(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast()
}

// until says how long the certificate of the other side is valid; empty: there was none.
func until(state *tls.ConnectionState) string {
	if state == nil {
		return ""
	}
	return fmt.Sprintf(", with a certificate until %s", state.PeerCertificates[0].NotAfter.UTC().Format("2006-01-02 15:04 MST"))
}

func expiring(subject string, state *tls.ConnectionState) []Finding {
	if state == nil || time.Until(state.PeerCertificates[0].NotAfter) > certificateEarly {
		return nil
	}
	return []Finding{{subject, Warning, "its certificate ends in less than 14 days: look whether it is renewed"}}
}
