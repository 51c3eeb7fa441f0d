package signin

import (
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// ParseDirective reads the directive. Syntax:
//
//	signin {
//		base_url <url>
//		title    <text>
//		key      <placeholder> [<former placeholder>...]
//		rotate   <duration>
//	}
func ParseDirective(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	h.Next() // the directive's name
	if h.NextArg() {
		return nil, h.Err("signin takes a block: write signin {, below it key {env.HIREGATE_SIGNIN_KEY}, below that }")
	}
	seen := map[string]bool{}
	for h.NextBlock(0) {
		option := h.Val()
		if seen[option] {
			return nil, h.Errf("%s is there twice: keep one of them", option)
		}
		seen[option] = true
		if err := handler.option(option, h.RemainingArgs()); err != nil {
			return nil, h.WrapErr(err)
		}
	}
	return handler, nil
}

func (h *Handler) option(name string, args []string) error {
	if name == "key" {
		if len(args) == 0 {
			return errors.New("key takes a placeholder: write, for example, `key {env.HIREGATE_SIGNIN_KEY}`")
		}
		h.Keys = args
		return nil
	}
	target, known := map[string]*string{"base_url": &h.BaseURL, "title": &h.Title, "rotate": new(string)}[name]
	if !known {
		return fmt.Errorf("%s is unknown here: write base_url, title, key or rotate", name)
	}
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("%s takes one argument", name)
	}
	*target = args[0]
	if name == "rotate" {
		d, err := caddy.ParseDuration(args[0])
		if err != nil || d < MinRotate || d > 10*365*24*time.Hour {
			return errRotate
		}
		h.Rotate = caddy.Duration(d)
	}
	return nil
}
