package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"golang.org/x/net/idna"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/scan"
	"github.com/hiregate/hiregate/internal/webhook"
)

// ParseOption reads the global option hiregate; docs/caddyfile.md has its syntax.
func ParseOption(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		d.Next()
		return nil, d.Err("hiregate is there twice: put everything into one block")
	}
	takePlaces() // of a Caddyfile that failed
	note(*d)
	p := &parser{Dispenser: d}
	if err := p.option(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(p.app)
	if err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "hiregate", Value: raw}, nil
}

// note records the lines of the placeholders in a block, for the error if one has no value.
func note(d caddyfile.Dispenser) {
	for d.Next() {
		if d.Val() == "public_url" || d.Val() == "temporal" {
			notePlace(d.Val(), d.File(), d.Line())
		}
		notePlaces(d.Val(), d.File(), d.Line())
	}
}

// Development reports whether the global option hiregate of a directive's Caddyfile says dev.
func Development(h httpcaddyfile.Helper) bool { return written(h).Dev }

// BodyMemory returns the body_memory of the global option hiregate of a directive's Caddyfile, in bytes.
func BodyMemory(h httpcaddyfile.Helper) int64 {
	return cmp.Or(written(h).BodyMemory, bodies.DefaultMemory)
}

// written returns the global option hiregate of a directive's Caddyfile; empty if there is none.
func written(h httpcaddyfile.Helper) (app App) {
	if option, ok := h.Option("hiregate").(httpcaddyfile.App); ok && json.Unmarshal(option.Value, &app) == nil {
		return app
	}
	return App{}
}

// Options reads the block of a directive that takes no argument; example is a sentence that shows one. It calls each
// for every option with its arguments; each may read the block after the option, and its errors get the option's line.
// An option may be given once, unless it is repeatable.
func Options(h httpcaddyfile.Helper, example string, each func(option string, args []string) error,
	repeatable ...string) error {
	note(*h.Dispenser)
	h.Next() // the directive's name
	Note(h)
	if h.NextArg() {
		return h.Err(example)
	}
	seen := map[string]bool{}
	for h.NextBlock(0) {
		option := h.Val()
		if seen[option] && !slices.Contains(repeatable, option) {
			return h.Errf("%s is there twice: keep one of them", option)
		}
		seen[option] = true
		if err := each(option, h.RemainingArgs()); err != nil {
			return h.WrapErr(err)
		}
	}
	return nil
}

// HostsOf returns the hosts in the addresses of a directive's site, in A-labels, but for those that placeholders name. No
// exported field of the helper has them.
func HostsOf(h httpcaddyfile.Helper) (hosts []string) {
	site := reflect.ValueOf(h).FieldByName("parentBlock")
	if !site.IsValid() || h.IsNamedRoute() {
		return nil
	}
	keys := site.FieldByName("Keys")
	for n := range keys.Len() {
		at, err := httpcaddyfile.ParseAddress(strings.ToLower(keys.Index(n).FieldByName("Text").String()))
		if host, invalid := idna.ToASCII(at.Host); err == nil && invalid == nil && host != "" && !strings.Contains(host, "{") {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Note records the position of the current word, the name of a directive.
func Note(h httpcaddyfile.Helper) { notePlace(h.Val(), h.File(), h.Line()) }

func (p *parser) option() error {
	p.Next() // the option's name
	if p.NextArg() {
		return p.Err("hiregate takes a block: write hiregate {, below it its options, below them }")
	}
	head := *p.Dispenser
	if err := p.block(p.line, "egress", "notify", "tenant"); err != nil {
		return err
	}
	p.complete(head, p.app.complete())
	if err := errors.Join(p.incomplete...); err != nil {
		return err
	}
	for _, check := range p.later {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) line() (err error) {
	option := p.Val()
	switch option {
	case "dev":
		p.app.Dev = true
		if p.NextArg() {
			return p.Err("dev stands alone: leave out what follows it")
		}
	case "service_name":
		p.app.ServiceName, err = p.text("Service", func(s string) error { _, err := webhook.NamesFor(s); return err })
	case "public_url":
		p.app.PublicURL, err = p.text(examplePublicURL, p.inMode(checkWrittenPublicURL))
	case "candidate_url":
		p.app.CandidateURL, err = p.word(exampleCandidateURL, func(s string) error {
			if strings.Contains(strings.NewReplacer(candidatePlace, "", tenantPlace, "").Replace(s), "{") {
				return nil // see text
			}
			return checkCandidateURL(s)
		})
	case "database":
		p.app.Database, err = p.text(exampleDatabase, p.inMode(checkDatabase))
	case "documents":
		return p.documents()
	case "temporal":
		return p.temporal()
	case "temporal_ui":
		p.app.TemporalUI, err = p.text(exampleTemporalUI, checkTemporalUI)
	case "egress":
		err = p.egress()
	case "seal_key":
		err = p.sealKey()
	case "scan":
		p.app.Scan = p.RemainingArgs()
		if err := scan.Check(p.app.Scan); err != nil && !strings.Contains(strings.Join(p.app.Scan, ""), "{") {
			return p.WrapErr(err)
		}
	case "retention":
		return p.retention()
	case "erasures":
		p.app.Erasures, err = p.text(exampleErasures, checkErasures)
	case "body_memory":
		_, err = p.word("64MiB", func(s string) (err error) { p.app.BodyMemory, err = parseBodyMemory(s); return err })
	case "body_time":
		_, err = p.word("2m", func(s string) error {
			d, err := parseBodyTime(s)
			p.app.BodyTime = caddy.Duration(d)
			return err
		})
	case "tenant_labels":
		_, err = p.word("200", func(s string) (err error) { p.app.TenantLabels, err = parseTenantLabels(s); return err })
	case "log_deliveries":
		p.app.LogDeliveries, err = p.word(logFailures, checkLogDeliveries)
	case "notify":
		return p.notify(&p.app.Notify)
	case "tenant":
		return p.tenant()
	default:
		return p.unknown("dev, service_name, public_url, candidate_url, database, documents, temporal, temporal_ui, " +
			"egress, seal_key, scan, retention, erasures, body_memory, body_time, tenant_labels, log_deliveries, notify or tenant")
	}
	if err != nil {
		return err
	}
	return p.noBlock(option)
}

// retention reads for how long content is kept, and in a block for how long rows are. Either may be left out.
func (p *parser) retention() (err error) {
	head, content := *p.Dispenser, time.Duration(0)
	if head.NextArg() {
		if _, err = p.word("90d", func(s string) (err error) {
			p.app.Retention = s
			content, err = retention.Parse(s)
			return err
		}); err != nil {
			return err
		}
	}
	err = p.block(func() error {
		switch p.Val() {
		case "rows":
			p.app.RetentionRows, err = p.word("400d", func(s string) error { _, err := retention.ParseRows(s, content); return err })
		case "applications":
			p.app.RetentionApplications, err = p.keptApplications()
		default:
			err = p.unknown("rows or applications")
		}
		return err
	})
	if err == nil && p.app.Retention == "" && p.app.RetentionRows == "" && p.app.RetentionApplications == "" {
		err = head.Err("retention says nothing: write, for example, `retention 90d`")
	}
	return err
}

// keptApplications reads for how long job applications are kept.
func (p *parser) keptApplications() (string, error) {
	return p.word("180d", func(s string) error { _, err := retention.ParseApplications(s); return err })
}

// retentionOf reads the retention of a tenant, which has that of its job applications alone.
func (p *parser) retentionOf(t *Tenant) error {
	head := *p.Dispenser
	err := p.block(func() (err error) {
		if p.Val() != "applications" {
			return p.unknown("applications")
		}
		t.RetentionApplications, err = p.keptApplications()
		return err
	})
	if err == nil && t.RetentionApplications == "" {
		err = head.Err("retention of a tenant says how long its job applications are kept: write, for example, " +
			"`retention { applications 180d }`, on three lines")
	}
	return err
}

func (p *parser) egress() error {
	args := p.RemainingArgs()
	if len(args) < 2 || args[0] != "allow" {
		return p.Err("egress takes allow, a range of addresses, and ports if not all are meant: write, for example, " +
			"`egress allow 10.20.0.0/16 8443`")
	}
	allow := Allow{CIDR: args[1], Ports: args[2:]}
	if _, err := allow.parse(); err != nil {
		return p.WrapErr(err)
	}
	p.app.Egress = append(p.app.Egress, allow)
	return nil
}

func (p *parser) sealKey() error {
	p.app.SealKey = p.RemainingArgs()
	if len(p.app.SealKey) == 0 {
		return p.Err("seal_key takes a placeholder, followed by the former one while it is changed: write, for example, " +
			"`seal_key {env.HIREGATE_SEAL_KEY}`")
	}
	for _, one := range p.app.SealKey {
		p.atEnd(func() error { return sealKey.Validate(one, p.app.Dev) })
	}
	return nil
}
