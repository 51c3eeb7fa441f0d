package check

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/hiregate/hiregate/internal/webhook"
	"github.com/hiregate/hiregate/schemas"
)

// mostExport is how many bytes of an export a receiver should take.
const mostExport = 5 << 20

var senderChecks = []check[*playedReceiver]{
	{"E-01", "VERIFY comes before any other event.", eventsVerify, Must,
		func(_ context.Context, p *playedReceiver) finding {
			if len(p.seen) > 0 && isExport(p.seen[0]) {
				return finding{Sent: p.seen[0].String(), Got: "no VERIFY before it",
					Do: "send VERIFY when an integration is saved, and exports after it was answered 200"}
			}
			return finding{}
		}},
	{"E-02", "Nothing but VERIFY comes until one was answered with exactly 200.", "States and transitions", Must, waitsFor200},
	{"E-03", "Each event is a POST to the URL as it was given.", endpoints, Must, each(anyEvent, func(_ *playedReceiver, e *event) string {
		return e.address
	}, "send each event with POST to the URL of the integration, with its path and its query unchanged")},
	{"E-04", "The event header is VERIFY or CANDIDATE-EXPORT.", eventsHeaders, Must, each(anyEvent, func(p *playedReceiver, e *event) string {
		if said := e.header.Get(p.names.Event); said == "" {
			return "no header " + p.names.Event + p.otherName(e.header)
		} else if said != e.kind {
			return p.names.Event + ": " + said
		}
		return ""
	}, "write it in capitals, as here")},
	{"E-05", "The signature is 64 hex digits, and nothing else.", authentication, Must, each(anyEvent, func(_ *playedReceiver, e *event) string {
		return e.malformed
	}, "write the 32 bytes of the HMAC as 64 hex digits, with nothing before or after them")},
	{"E-06", "The signature is the HMAC-SHA256 of the bytes that are sent, under the secret.", authentication, Must,
		each(wellFormed, func(_ *playedReceiver, e *event) string { return e.forged },
			"compute the HMAC over the bytes that go out, with the characters of the secret as the key; what is sent must not be written anew after that")},
	{"E-07", "No header of the contract is there twice.", receiving, Must, each(anyEvent, func(p *playedReceiver, e *event) string {
		for _, name := range []string{p.names.Event, p.names.Signature, p.names.UUID, webhook.LinkHeader, p.names.ExportContext} {
			if n := len(e.header.Values(name)); n > 1 {
				return fmt.Sprintf("%s %d times", name, n)
			}
		}
		return ""
	}, "set each header, and do not add to it")},
	{"E-08", "The body of VERIFY is the verification body.", fields, Must, each(readableVerify, func(_ *playedReceiver, e *event) string {
		return described(e.faults)
	}, `send {"data":"Service Verify Event"}, with the maker's name for Service`)},
	{"E-09", "VERIFY has no UUID, Link or export context.", eventsHeaders, Should, each(isVerify, func(p *playedReceiver, e *event) string {
		for _, name := range []string{p.names.UUID, webhook.LinkHeader, p.names.ExportContext} {
			if len(e.header.Values(name)) > 0 {
				return "the header " + name
			}
		}
		return ""
	}, "leave these headers to exports")},
	{"E-10", "The Content-Type is application/json.", sending, Should, each(anyEvent, func(_ *playedReceiver, e *event) string {
		media, _, _ := strings.Cut(e.header.Get("Content-Type"), ";")
		if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
			return "Content-Type: " + e.header.Get("Content-Type")
		}
		return ""
	}, "send Content-Type: application/json; many receivers read no body without it")},
	{"E-11", "The User-Agent of an export is the maker's name.", eventsHeaders, Must, each(isExport, func(p *playedReceiver, e *event) string {
		if said := e.header.Get("User-Agent"); said != p.names.UserAgent {
			return "User-Agent: " + said
		}
		return ""
	}, "send the maker's name alone")},
	{"E-12", "An export has a UUID of 1 to 255 visible ASCII characters.", eventsHeaders, Must, each(isExport, func(p *playedReceiver, e *event) string {
		switch {
		case e.uuid == "":
			return "no header " + p.names.UUID
		case !webhook.ValidUUID(e.uuid):
			return fmt.Sprintf("%d characters, some of which are not visible ASCII, or too many", len(e.uuid))
		}
		return ""
	}, "give each export a random UUID")},
	{"E-13", "Another export has another UUID.", eventsHeaders, Must, anotherUUID},
	{"E-14", "An export has a Link.", eventsHeaders, Should, each(isExport, func(_ *playedReceiver, e *event) string {
		if len(e.header.Values(webhook.LinkHeader)) == 0 {
			return "no header Link"
		}
		return ""
	}, "send the URL of the candidate's profile")},
	{"E-15", "A Link is the URL of a profile, and nothing else.", eventsHeaders, Must, each(hasLink, func(_ *playedReceiver, e *event) string {
		u, err := url.Parse(e.header.Get(webhook.LinkHeader))
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return "a value that does not begin with https:// or http:// and a host, or can't be parsed"
		}
		return ""
	}, "send the bare URL, without <, > and parameters")},
	{"E-16", "An export context is there only for a candidate with a job, and not empty.", eventsHeaders, Must, each(isExport, wrongContext,
		"name the job of the export, or leave the header out")},
	{"E-17", "Link and export context are 1 KiB long at most.", receiving, Should, each(isExport, func(p *playedReceiver, e *event) string {
		for _, name := range []string{webhook.LinkHeader, p.names.ExportContext} {
			if n := len(e.header.Get(name)); n > webhook.HeaderBound {
				return fmt.Sprintf("%d bytes in %s", n, name)
			}
		}
		return ""
	}, "send shorter ones: receivers refuse headers of any length")},
	{"E-18", "The body is JSON in UTF-8, not compressed, with no name twice and nothing around it.", receiving, Must,
		each(anyEvent, func(_ *playedReceiver, e *event) string { return e.unreadable }, "write the body with a library for JSON, and send it as it is")},
	{"E-19", "What the contract requires of an export is there.", receiving, Must, neverFails(func(f schemas.Finding) bool { return f.Rule == "required" },
		"write candidate, person and person.id, all three properties of an identifier, the four of a custom field, and id and url of an attachment")},
	{"E-20", "Each field of an export has the type and the form of the contract.", fields, Must, neverFails(func(f schemas.Finding) bool { return f.Rule != "required" },
		"write the field as the contract has it, or leave it out where it may be absent")},
	{"E-21", "Dates are YYYY-MM-DD, and datetimes YYYY-MM-DD HH:mm:ss.", fields, Should,
		neverDeviates("write neither T nor a zone: a datetime has a blank between date and time", "date_form", "datetime_form")},
	{"E-22", "No text that the contract requires is null.", receiving, Should, neverDeviates("write an empty text", "null")},
	{"E-23", "web is a string.", fields, Should, neverDeviates("write the HTML template as one string", "web_array")},
	{"E-24", "Each schemeId and schemeAgencyId is that of the contract.", fields, Should,
		neverDeviates("write the maker's name, and for a schemeId what the contract has behind it, and nothing around it",
			"scheme_id", "scheme_id_padded", "scheme_agency_id")},
	{"E-25", "No property of the contract is there in another spelling.", fields, Should, each(readableExport, func(_ *playedReceiver, e *event) string {
		return described(e.misspelled)
	}, "spell it as the contract does: receivers look for that name alone")},
	{"E-26", "An export has 5 MiB at most.", receiving, Should, each(isExport, func(_ *playedReceiver, e *event) string {
		if e.size > mostExport {
			return humanize.IBytes(uint64(e.size))
		}
		return ""
	}, "send documents by URL, and less of the candidate: receivers refuse larger ones")},
	{"E-27", "An export that was answered 503 is sent again, under its UUID.", sending, Should, sentAgain},
	{"E-28", "What is answered 503 with Retry-After comes again when that is over.", sending, Should, sentInTime},
	{"E-29", "What is sent again under a UUID has the same bytes.", sending, Must, sameBytes},
	{"E-30", "A redirect is not followed.", events, Must,
		func(_ context.Context, p *playedReceiver) finding {
			switch {
			case p.moved:
				return finding{Sent: "302 with a Location", Got: "a request there", Do: "take a redirect for what was not received, and do not follow it"}
			case p.step <= hasMoved:
				return finding{Skipped: "no export came so far that it was answered 302"}
			}
			return finding{}
		}},
	{"E-31", "What was answered 2xx is not sent again.", sending, Should, sentOnce},
	{"E-32", "An answer that takes 5 s is waited for.", sending, Should, waitsForAnswers},
	{"E-33", "A document's URL answers GET with 200, without credentials.", urlsEnd, Must, eachDocument(anyDocument, isMissing,
		"make the URL public from the moment of the export, for 2 h 30 min: what authorizes is a part of it that nobody can guess")},
	{"E-34", "A document's URL answers without a redirect.", fetching, Should, eachDocument(anyDocument, redirects,
		"write the last URL into the export: careful receivers follow no redirect")},
	{"E-35", "A document is whole, and not empty.", fields, Must, eachDocument(isThere, isBroken,
		"answer with all of the file: in a Document object, as base64")},
	{"E-36", "A document is a Document object, with content, mimeType and fileName.", fields, Should, eachDocument(isWhole, isNoObject,
		`answer with application/json: {"content": "…", "mimeType": "application/pdf", "fileName": "…"}`)},
	{"E-37", "A document can be fetched again.", urlsEnd, Must, eachDocument(isThere, isMissingLater,
		"let a URL answer as often as it is asked within 2 h 30 min of the export: a receiver fetches again what broke off")},
	{"E-38", "A URL that names its end names one 2 h 30 min after the export, or later.", urlsEnd, Must, eachDocument(anyDocument, endsEarly,
		"sign URLs for 2 h 30 min from the export, not from when its body was written")},
	{"E-39", "A document has 25 MiB at most.", fetching, Should, eachDocument(isThere, isLarge,
		"keep documents smaller: receivers give larger ones up")},
}
