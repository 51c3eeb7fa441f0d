package check

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/webhook"
)

// The places of the requirements: sections of the contract, and of the decisions about what it leaves open.
const (
	events         = "Events, rules"
	eventsHeaders  = "Events, headers"
	eventsVerify   = "Events, rule 2"
	authentication = "Authentication 3"
	fields         = "Resources and their fields, B"
	urlsEnd        = "Events, rule 3"
	makersName     = "Decisions, The maker's name, and ours"
	receiving      = "Decisions, Webhook, receiving"
	sending        = "Decisions, Webhook, sending"
	endpoints      = "Endpoints, B"
	fetching       = "Decisions, Documents"
)

const (
	rawBytes     = "compute the HMAC over the bytes of the request as they came, before you parse them"
	checkFirst   = "check the signature first, for every event, and answer 401"
	moreTolerant = "require person.id alone; read all else only where it is there"
)

var receiverChecks = []check[*receiver]{
	{"B-01", "VERIFY is answered with exactly 200.", eventsVerify, Must, verifies},
	{"B-02", "VERIFY is answered with exactly 200 each time.", "States and transitions", Must,
		func(ctx context.Context, r *receiver) finding {
			if found := verifies(ctx, r); found.Do != "" {
				return found
			}
			return verifies(ctx, r)
		}},
	{"B-03", "A VERIFY with another secret's signature is refused with 4xx.", authentication, Must,
		func(ctx context.Context, r *receiver) finding {
			d := r.verification()
			d.Secret += "x"
			return r.refuses(ctx, "VERIFY, signed with another secret", d, unchanged, checkFirst)
		}},
	{"B-04", "An export without a signature is refused with 4xx.", authentication, Must,
		func(ctx context.Context, r *receiver) finding {
			return r.refuses(ctx, "an export without a signature", r.export(r.minimal()), r.signature(""), checkFirst)
		}},
	{"B-05", "An export with another secret's signature is refused with 4xx.", authentication, Must,
		func(ctx context.Context, r *receiver) finding {
			d := r.export(r.minimal())
			d.Secret += "x"
			return r.refuses(ctx, "an export, signed with another secret", d, unchanged, checkFirst)
		}},
	{"B-06", "An export with the signature of another body is refused with 4xx.", authentication, Must,
		func(ctx context.Context, r *receiver) finding {
			seen := r.export(r.minimal())
			if a := r.send(ctx, seen); a.err != nil {
				return finding{Sent: "an export", Got: a.got(), Do: a.remedy("answer each request")}
			}
			return r.refuses(ctx, "an export with the signature of the one before", r.export(r.minimal()),
				r.signature(webhook.Sign(r.secret, seen.Body)), "compute the HMAC of each body, and compare that")
		}},
	{"B-07", "A signature that is not hex is refused with 4xx.", authentication, Must,
		func(ctx context.Context, r *receiver) finding {
			found := r.refuses(ctx, "an export with the signature no-signature", r.export(r.minimal()), r.signature("no-signature"),
				"answer 401 where the header can't be decoded or has another length")
			if found.Do != "" {
				return found
			}
			d := r.export(r.minimal())
			return r.refuses(ctx, "an export with its signature and zz behind it", d,
				r.signature(webhook.Sign(r.secret, d.Body)+"zz"),
				"compare the header as text with the HMAC in hex: a decoder may stop without an error where the digits end")
		}},
	{"B-08", "An export with person.id alone is accepted.", receiving, Must, func(ctx context.Context, r *receiver) finding {
		if a := r.send(ctx, r.export(r.minimal())); !a.accepted() {
			return finding{Sent: "a candidate with person.id alone", Got: a.got(), Do: a.plainRemedy(moreTolerant)}
		}
		return finding{}
	}},
	accepted("B-09", "An export with every field is accepted.", fields, Must, "a candidate with every field of the contract",
		(*receiver).full, "read the fields as the contract has them; the start date is the optional first of the job's custom fields"),
	accepted("B-10", "Optional properties that are null or empty are accepted.", receiving, Must,
		"a candidate with null and empty properties", (*receiver).sparse, moreTolerant),
	accepted("B-11", "Unknown properties are accepted.", receiving, Must, "a candidate with the property checkExtra",
		(*receiver).extended, "ignore properties that you don't know: the service may add some"),
	accepted("B-12", "Values that the contract does not list are accepted.", receiving, Must,
		"a candidate with the gender and the work authorization Check Unlisted", (*receiver).unlisted,
		"take any string where the contract lists no values"),
	accepted("B-13", "The signature counts for the raw bytes: white space.", authentication, Must,
		"an export with spaces, a tab and a newline in its JSON", (*receiver).spaced, rawBytes),
	accepted("B-14", "The signature counts for the raw bytes: order of keys.", authentication, Must,
		"an export whose keys are not sorted", (*receiver).unsorted, rawBytes),
	accepted("B-15", "The signature counts for the raw bytes: escapes.", authentication, Must,
		`an export with \u00e9 in its JSON`, (*receiver).escaped, rawBytes),
	accepted("B-16", "The signature counts for the raw bytes: numbers.", authentication, Must,
		"an export with the numbers 1.50, 1E2 and 0.0 in an unknown property", (*receiver).numbers, rawBytes),
	accepted("B-17", "Names with 4-byte characters and right-to-left script are accepted.", fields, Must,
		"a candidate with the name Check 𠮷𝒵 עדי", (*receiver).scripts, "store text as full UTF-8 (utf8mb4 in MySQL)"),
	accepted("B-18", "An export of nearly 5 MiB is accepted.", receiving, Should, "an export of nearly 5 MiB",
		func(r *receiver) []byte { return r.sized(r.most) }, "raise the limit of the request's body to 5 MiB"),
	{"B-19", "An export that comes again under its UUID is answered 2xx.", sending, Must,
		func(ctx context.Context, r *receiver) finding {
			d := r.export(r.minimal())
			for range 2 {
				if a := r.send(ctx, d); !a.accepted() {
					return r.rejected(ctx, "the same export twice", a,
						"answer 2xx to an export that you have: the service sends it again until you do")
				}
			}
			return finding{}
		}},
	{"B-20", "Ten requests at once with one UUID are answered 2xx.", sending, Must,
		func(ctx context.Context, r *receiver) finding {
			return r.together(ctx, "the same export ten times at once", slices.Repeat([]webhook.Delivery{r.export(r.minimal())}, 10),
				"insert the UUID under a unique key, and answer 2xx where it is there already")
		}},
	{"B-21", "Another body under a known UUID is not answered 5xx.", receiving, Should,
		func(ctx context.Context, r *receiver) finding {
			first := r.export(r.minimal())
			r.send(ctx, first)
			first.Body = r.minimal()
			return r.survives(ctx, "another body under a known UUID", first, "answer 409")
		}},
	{"B-22", "Broken JSON with a right signature is not answered 5xx.", receiving, Should,
		func(ctx context.Context, r *receiver) finding {
			return r.survives(ctx, `the body {"candidate":`, r.export([]byte(`{"candidate":`)), "answer 400 to what is not JSON")
		}},
	{"B-23", "An unknown event is not answered 5xx.", receiving, Should, func(ctx context.Context, r *receiver) finding {
		d := r.export(r.minimal())
		d.Event = "CHECK-UNKNOWN"
		return r.survives(ctx, "the event CHECK-UNKNOWN", d, "answer 400 to an event that you don't know")
	}},
	{"B-24", "GET is refused with 4xx.", receiving, Should, func(ctx context.Context, r *receiver) finding {
		return r.refuses(ctx, "GET", r.verification(), func(req *http.Request) {
			req.Method, req.Body, req.ContentLength = http.MethodGet, nil, 0
			delete(req.Header, r.names.Signature)
		}, "answer 405 to everything but POST")
	}},
	{"B-25", "Sixteen exports at once are answered 2xx.", events, Must, func(ctx context.Context, r *receiver) finding {
		all := make([]webhook.Delivery, atOnce)
		for n := range all {
			all[n] = r.export(r.minimal())
		}
		return r.together(ctx, "16 exports at once", all, "put the export into a queue, and answer before you work on it")
	}},
	{"B-26", "Both secrets are accepted during a rotation.", receiving, Must, func(ctx context.Context, r *receiver) finding {
		if r.nextSecret == "" {
			return finding{Skipped: "add --next-secret to check a rotation"}
		}
		d := r.export(r.minimal())
		d.Secret = r.nextSecret
		if a := r.send(ctx, d); !a.accepted() {
			return r.rejected(ctx, "an export, signed with the next secret", a,
				"compare with the signatures under both secrets until the rotation is over")
		}
		return r.accepts(ctx, "an export, signed with the present secret", r.export(r.minimal()), "keep the present secret until the end")
	}},
	{"B-27", "19 of 20 exports are answered within 5 s.", sending, Should, prompt},
	{"B-28", "Header names are read in either case.", makersName, Must, func(ctx context.Context, r *receiver) finding {
		for _, next := range []func() webhook.Delivery{r.verification, func() webhook.Delivery { return r.export(r.minimal()) }} {
			d := next()
			if a := r.send(ctx, d); !a.accepted() {
				return finding{Skipped: d.Event + " is not accepted with the usual names either: " + a.got()}
			}
			if a := r.send(ctx, next(), lowerCase); !a.accepted() {
				return finding{Sent: d.Event + " with " + r.names.Signature + ", and with " + strings.ToLower(r.names.Signature),
					Got: "2xx, and " + a.got(),
					Do:  a.remedy("compare header names without their case: proxies and HTTP/2 write them in lower case")}
			}
		}
		return finding{}
	}},
	{"B-29", "The documents of an export are fetched.", urlsEnd, Should, fetched},
	{"B-30", "A document that was answered 503 is fetched again.", fetching, Should, fetchedAgain},
	{"B-31", "A document that was answered 410 is not asked for again.", fetching, Should, givenUp},
	{"B-32", "VERIFY and an export, signed with an empty secret, are refused with 4xx.", authentication, Must, emptySecret},
	{"B-33", "A signature with one wrong digit is refused with 4xx.", authentication, Must, wrongDigit},
	{"B-34", "A part of the signature, or more than it, is refused with 4xx.", authentication, Must, partOrMore},
	{"B-35", "An export of any size is accepted only with its signature.", authentication, Must, anySize},
	{"B-36", "Another secret's signature is refused with 4xx, whichever optional headers there are.", authentication, Must, anyHeaders},
	{"B-37", "A Link of 300 characters is accepted.", eventsHeaders, Must, func(ctx context.Context, r *receiver) finding {
		d := r.export(r.minimal())
		d.Link = r.longLink()
		return r.accepts(ctx, "an export with a Link of 300 characters", d, "take a URL of any length, or leave the header unread")
	}},
	{"B-38", "An export context is accepted.", eventsHeaders, Must, func(ctx context.Context, r *receiver) finding {
		d := r.export(r.minimal())
		d.ExportContext = []byte(exportContext)
		return r.accepts(ctx, "an export with "+r.names.ExportContext+": "+exportContext, d,
			"take any text in "+r.names.ExportContext+": the contract does not show its form")
	}},
	accepted("B-39", "A candidate with two job applications is accepted.", fields, Must, "a candidate with two profiles",
		func(r *receiver) []byte { return r.profiled(r.profile(), r.profile()) },
		"read each entry of profiles: there is one for each job application"),
	{"B-40", "A candidate with 40 documents is accepted.", fields, Must, func(ctx context.Context, r *receiver) finding {
		if r.shelf == nil {
			return unreachable
		}
		return r.accepts(ctx, "a profile with 40 attachments", r.export(r.profiled(r.profile(r.attachments(fortyNames()...)...))),
			"take any number of attachments, and fetch the documents after you have answered")
	}},
	accepted("B-41", "Text that looks like HTML is accepted.", fields, Must, "a candidate with "+markup+" in the name and in web",
		(*receiver).scripted, "take any text, and escape it where it is shown; exempt this URL in a firewall that looks for attacks"),
	{"B-42", "All of B-37 to B-41 is accepted in an export of nearly 5 MiB.", receiving, Should,
		func(ctx context.Context, r *receiver) finding {
			if r.shelf == nil {
				return unreachable
			}
			d := r.export(r.largest())
			d.Link, d.ExportContext = r.longLink(), []byte(exportContext)
			return r.accepts(ctx, "an export of nearly 5 MiB with all of that", d,
				"see B-18 and B-37 to B-41 first; if these passed, store the export, answer, and work afterwards")
		}},
}

// accepted is a check that sends one export, which is to be answered 2xx.
func accepted(id, requirement, place string, level Level, sent string, body func(*receiver) []byte, do string) check[*receiver] {
	return check[*receiver]{id, requirement, place, level, func(ctx context.Context, r *receiver) finding {
		return r.accepts(ctx, sent, r.export(body(r)), do)
	}}
}

func unchanged(*http.Request) {}

// lowerCase writes the names of the headers in lower case. HTTP/1.1 sends them as they are here, but for User-Agent: without it
// net/http sends its own beside ours.
func lowerCase(req *http.Request) {
	lower := http.Header{"User-Agent": req.Header["User-Agent"]}
	delete(req.Header, "User-Agent")
	for name, values := range req.Header {
		lower[strings.ToLower(name)] = values
	}
	req.Header = lower
}

func verifies(ctx context.Context, r *receiver) finding {
	a := r.send(ctx, r.verification())
	if a.err == nil && a.Verified() {
		return finding{}
	}
	do := "answer 200, and neither another 2xx nor a redirect, whenever VERIFY comes"
	if a.Status == http.StatusServiceUnavailable { // Retry-After is no remedy here
		do = "answer 200 also while exports have to wait: an integration is not saved otherwise"
	} else {
		do = a.plainRemedy(do)
	}
	return finding{Sent: "VERIFY", Got: a.got(), Do: do}
}

// prompt sends twenty exports one after the other, until two of them took too long.
func prompt(ctx context.Context, r *receiver) finding {
	slow := 0
	for n := range 20 {
		a := r.send(ctx, r.export(r.minimal()))
		switch {
		case a.err != nil:
			return r.rejected(ctx, "an export", a, "answer each export")
		case !a.accepted():
			return finding{Skipped: "an export is not accepted: " + a.got()}
		}
		if a.Duration > r.prompt {
			slow++
		}
		if slow > 1 {
			return finding{Sent: "exports, one after the other",
				Got: fmt.Sprintf("2 of the first %d took longer than %s, this one %s", n+1, terminal.FormatDuration(r.prompt),
					terminal.FormatDuration(a.Duration)),
				Do: fmt.Sprintf("store the export, answer, and work afterwards: the service waits %s", webhook.AttemptTimeout)}
		}
	}
	return finding{}
}
