package check

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hiregate/hiregate/internal/webhook"
)

// forgery is a delivery that a receiver has to refuse.
type forgery struct {
	what     string
	delivery webhook.Delivery
	edit     func(*http.Request)
}

// refusesEach sends forgeries, until one is not refused with 4xx.
func (r *receiver) refusesEach(ctx context.Context, do string, all ...forgery) finding {
	for _, f := range all {
		if found := r.refuses(ctx, f.what, f.delivery, f.edit, do); found != (finding{}) {
			return found
		}
	}
	return finding{}
}

// misSigned is an export whose signature is made from the right one.
func (r *receiver) misSigned(what string, wrong func(right string) string) forgery {
	d := r.export(r.minimal())
	return forgery{what, d, r.signature(wrong(webhook.Sign(r.secret, d.Body)))}
}

func emptySecret(ctx context.Context, r *receiver) finding {
	verification, export := r.verification(), r.export(r.minimal())
	verification.Secret, export.Secret = "", ""
	return r.refusesEach(ctx, "check against secrets that are set: a secret that is absent or empty is none",
		forgery{"VERIFY, signed with an empty secret", verification, unchanged},
		forgery{"an export, signed with an empty secret", export, unchanged})
}

func wrongDigit(ctx context.Context, r *receiver) finding {
	var all []forgery
	for _, n := range []int{0, 31, 63} {
		all = append(all, r.misSigned(fmt.Sprintf("an export whose signature is wrong in digit %d alone", n+1), func(right string) string {
			digit := "0"
			if right[n:n+1] == digit {
				digit = "1"
			}
			return right[:n] + digit + right[n+1:]
		}))
	}
	return r.refusesEach(ctx, "compare all 64 digits, in constant time", all...)
}

func partOrMore(ctx context.Context, r *receiver) finding {
	return r.refusesEach(ctx, "compare the whole header with the whole HMAC: that one contains the other is not enough",
		r.misSigned("an export with the first 8 digits of its signature", func(right string) string { return right[:8] }),
		r.misSigned("an export with its signature without the first digit", func(right string) string { return right[1:] }),
		r.misSigned("an export with its signature and 00 behind it", func(right string) string { return right + "00" }),
		r.misSigned("an export with its signature and 00 in front of it", func(right string) string { return "00" + right }))
}

// anySize demands only that nothing is accepted: a receiver may close the connection where a body is too large for it.
func anySize(ctx context.Context, r *receiver) finding {
	plain := r.plain(ctx, webhook.EventExport)
	for _, size := range []int{8 << 10, 64 << 10, 1 << 20, 5 << 20} {
		d := r.export(r.sized(min(size, r.most)))
		d.Secret += "x"
		found := r.demands(plain, fmt.Sprintf("an export of %d bytes, signed with another secret", len(d.Body)), r.send(ctx, d),
			func(a attempt) bool { return !a.accepted() },
			"compute the HMAC of each body, however large; answer 413 to one that is too large for you")
		if found != (finding{}) {
			return found
		}
	}
	return finding{}
}

func anyHeaders(ctx context.Context, r *receiver) finding {
	forged := func(what string, change func(*webhook.Delivery)) forgery {
		d := r.export(r.minimal())
		d.Secret += "x"
		change(&d)
		return forgery{"an export " + what + ", signed with another secret", d, unchanged}
	}
	return r.refusesEach(ctx, checkFirst,
		forged("without "+r.names.UUID, func(d *webhook.Delivery) { d.UUID = nil }),
		forged("without "+webhook.LinkHeader, func(d *webhook.Delivery) { d.Link = nil }),
		forged("with "+r.names.ExportContext, func(d *webhook.Delivery) { d.ExportContext = []byte(exportContext) }))
}
