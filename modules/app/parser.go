package app

import (
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

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
