package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/hiregate/hiregate/internal/bodies"
	"github.com/hiregate/hiregate/internal/retention"
	"github.com/hiregate/hiregate/internal/scan"
	"github.com/hiregate/hiregate/internal/webhook"
)

// ParseOption reads the global option. Syntax:
//
//	hiregate {
//		dev
//		service_name <name>
//		public_url   <url>
//		candidate_url <url with {candidate}>
//		database     sqlite:///<path>|<placeholder of postgres://…>
//		documents    file:///<path>|s3://<bucket>/<prefix> {
//			endpoint   <url>
//			region     <name>
//			access_key <placeholder>
//			secret_key <placeholder>
//			encryption AES256|<key id>
//		}
//		temporal     <host:port> {
//			namespace <name>
//			tls {
//				ca          <file>
//				client_auth <certificate file> <key file>
//				server_name <name>
//			}
//			api_key   <placeholder>
//			take_over <id of a database>
//		}
//		temporal_ui  <url>
//		egress allow <cidr> [<port>…]
//		seal_key <placeholder> [<former placeholder>…]
//		scan   exec <program> [<argument>…]|clamd <host:port>
//		retention [<days>d] {
//			rows <days>d|forever
//		}
//		erasures    <file>
//		body_memory <size>
//		body_time   <duration>
//		tenant_labels  <n>
//		log_deliveries all|failures
//		notify <url> {
//			secret <placeholder> [<former placeholder>]
//			events <event>…
//		}
//		tenant <name> {
//			secret <placeholder>…
//			rate   <n>/s|m|h [burst <n>]
//			invalid refuse|quarantine
//			deviations accept|refuse|quarantine
//			notify <url> { … }
//			integration <name> {
//				url       <url>
//				secret    <placeholder> [<former placeholder>]
//				documents rehost|passthrough|inline
//				retry     <duration>…
//				in_flight <n>
//				rate      <n>/s|m|h [burst <n>]
//				verify    off
//				standard_webhooks
//				traceparent on
//				header    <name> <value with a placeholder>
//				basic     <user> <placeholder>
//				bearer    <placeholder>
//				oauth2 {
//					token_url     <url>
//					client_id     <id>
//					client_secret <placeholder>
//					scope         <scope>…
//				}
//				tls {
//					cert <file>
//					key  <file>
//					ca   <file>
//				}
//			}
//		}
//	}
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
// An option may be given once.
func Options(h httpcaddyfile.Helper, example string, each func(option string, args []string) error) error {
	note(*h.Dispenser)
	h.Next() // the directive's name
	Note(h)
	if h.NextArg() {
		return h.Err(example)
	}
	seen := map[string]bool{}
	for h.NextBlock(0) {
		option := h.Val()
		if seen[option] {
			return h.Errf("%s is there twice: keep one of them", option)
		}
		seen[option] = true
		if err := each(option, h.RemainingArgs()); err != nil {
			return h.WrapErr(err)
		}
	}
	return nil
}

// Note records the position of the current word, the name of a directive.
func Note(h httpcaddyfile.Helper) { notePlace(h.Val(), h.File(), h.Line()) }

// parser reads the block. Checks that need the whole block, such as those of addresses against egress, wait for its
// end, and still name their line.
type parser struct {
	*caddyfile.Dispenser
	app        App
	later      []func() error
	incomplete []error // blocks that lack options; all are named at once
}

// complete records the error of a block that lacks options, if there is one. head is the begin of the block.
func (p *parser) complete(head caddyfile.Dispenser, err error) {
	if err != nil {
		p.incomplete = append(p.incomplete, head.WrapErr(err))
	}
}

// atEnd runs a check at the end of the block; its error names the current line.
func (p *parser) atEnd(check func() error) {
	here := *p.Dispenser
	p.later = append(p.later, func() error {
		if err := check(); err != nil {
			return here.WrapErr(err)
		}
		return nil
	})
}

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

// block reads a block line by line, if there is one here. Only repeatable options may occur more than once.
func (p *parser) block(line func() error, repeatable ...string) error {
	seen := map[string]bool{}
	for nesting := p.Nesting(); p.NextBlock(nesting); {
		option := p.Val()
		if seen[option] && !slices.Contains(repeatable, option) {
			return p.Errf("%s is there twice: keep one of them", option)
		}
		seen[option] = true
		if err := line(); err != nil {
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

func (p *parser) unknown(known string) error {
	return p.Errf("%s is unknown here: write %s", p.Val(), known)
}

// argument reads the only argument of an option.
func (p *parser) argument(example string) (string, error) {
	option := p.Val()
	args := p.RemainingArgs()
	if size, ok := Spaced(args); ok {
		return "", p.Errf("%s %s: write it without the space, `%[1]s %[3]s`", option, strings.Join(args, " "), size)
	}
	if len(args) != 1 {
		return "", p.Errf("%s takes one argument: write, for example, `%[1]s %s`", option, example)
	}
	if args[0] == "" {
		return "", p.Errf("%s is empty: write, for example, `%[1]s %s`", option, example)
	}
	return args[0], nil
}

var (
	number = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	unit   = regexp.MustCompile(`^[A-Za-z]{1,5}$`)
)

// Spaced joins a number and its unit that were written with a space between them, and reports whether they were.
func Spaced(args []string) (joined string, ok bool) {
	if len(args) != 2 || !number.MatchString(args[0]) || !unit.MatchString(args[1]) {
		return "", false
	}
	return args[0] + args[1], true
}

// word reads an argument without placeholders, and checks it.
func (p *parser) word(example string, check func(string) error) (string, error) {
	s, err := p.argument(example)
	if err != nil {
		return "", err
	}
	if err := check(s); err != nil {
		return "", p.WrapErr(err)
	}
	return s, nil
}

// text reads an argument that may have placeholders. With placeholders it is checked when they are resolved, at the
// start.
func (p *parser) text(example string, check func(string) error) (string, error) {
	return p.word(example, func(s string) error {
		if strings.Contains(s, "{") {
			return nil
		}
		return check(s)
	})
}

// inMode delays a check until it is known whether the block says dev.
func (p *parser) inMode(check func(s string, dev bool) error) func(string) error {
	return func(s string) error {
		p.atEnd(func() error { return check(s, p.app.Dev) })
		return nil
	}
}

func anything(string) error { return nil }

// noBlock rejects a block after an option that takes none.
func (p *parser) noBlock(option string) error {
	here := *p.Dispenser
	if p.NextBlock(p.Nesting()) || p.Val() != here.Val() { // as after an empty block
		return here.Errf("%s takes no block: leave out the braces and what is between them", option)
	}
	return nil
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
		if p.Val() != "rows" {
			return p.unknown("rows")
		}
		p.app.RetentionRows, err = p.word("400d", func(s string) error { _, err := retention.ParseRows(s, content); return err })
		return err
	})
	if err == nil && p.app.Retention == "" && p.app.RetentionRows == "" {
		err = head.Err("retention says nothing: write, for example, `retention 90d`")
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
