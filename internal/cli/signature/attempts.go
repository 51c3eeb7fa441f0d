package signature

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// evidence holds a signature and what it should be made of.
type evidence struct {
	header  string
	body    []byte
	secrets [][]byte // whole files; the first should match
	others  [][]byte // bodies of other events
}

// attempt is one mistake: what to take for the header, the secret or the body.
type attempt struct {
	name, advice string
	// Exactly one is set. Each returns nothing where the attempt does not apply.
	header func(string) []byte // the 32 bytes of the digest
	secret func(*evidence) [][]byte
	body   func(*evidence) [][]byte
}

// asIs marks the rows of what is right.
const asIs = ""

// attempts are all mistakes that are tried, each alone and together with one of each other kind; the likely ones first.
var attempts = []attempt{
	{asIs, "", decodeHex, nil, nil},
	{"the header is in capitals", "compare hex without regard to case, or the decoded bytes",
		func(h string) []byte { return decodeHex(strings.ToLower(h)) }, nil, nil},
	{"the header has white space or quotes around it", "remove them before you compare",
		func(h string) []byte { return decodeHex(strings.ToLower(strings.Trim(h, " \t\r\n\"'"))) }, nil, nil},
	{"the header begins with sha256=", "the contract has the bare hex digits: remove the prefix", func(h string) []byte {
		bare, found := strings.CutPrefix(strings.ToLower(h), "sha256=")
		if !found {
			return nil
		}
		return decodeHex(bare)
	}, nil, nil},
	{"the header is base64", "the contract has hex: encode the digest as 64 hex digits", decodeBase64, nil, nil},

	{asIs, "", nil, func(e *evidence) [][]byte { return [][]byte{bare(e.secrets[0])} }, nil},
	{"the secret ends in a newline", "the file's line end was used as a part of the key: trim it",
		nil, func(e *evidence) [][]byte {
			s := bare(e.secrets[0])
			return [][]byte{append(slices.Clip(s), '\n'), append(slices.Clip(s), "\r\n"...)}
		}, nil},
	{"the secret has white space or quotes around it", "remove them: the key is what is between them",
		nil, func(e *evidence) [][]byte { return [][]byte{bytes.Trim(e.secrets[0], " \t\r\n\"'")} }, nil},
	{"the secret begins with a byte order mark", "save the secret without it", nil, func(e *evidence) [][]byte {
		return [][]byte{bytes.TrimPrefix(bare(e.secrets[0]), bom), append(slices.Clone(bom), bare(e.secrets[0])...)}
	}, nil},
	{"the secret was decoded from hex", "use the characters of the secret as they are as the key",
		nil, func(e *evidence) [][]byte { return some(decode(hex.DecodeString, bare(e.secrets[0]))) }, nil},
	{"the secret was decoded from base64", "use the characters of the secret as they are as the key",
		nil, func(e *evidence) [][]byte {
			s := bytes.TrimRight(bare(e.secrets[0]), "=")
			return some(decode(base64.RawStdEncoding.DecodeString, s), decode(base64.RawURLEncoding.DecodeString, s))
		}, nil},
	{"the secret is another one of the list", "the sender signs with that one: use it, or change the sender's",
		nil, func(e *evidence) (all [][]byte) {
			for _, s := range e.secrets[1:] {
				all = append(all, bare(s))
			}
			return all
		}, nil},

	{asIs, "", nil, nil, func(e *evidence) [][]byte { return [][]byte{e.body} }},
	{"the body ends in a newline that was not signed, or lacks one that was", "sign and verify the bytes of the request",
		nil, nil, func(e *evidence) [][]byte {
			b := bytes.TrimRight(e.body, "\r\n")
			return [][]byte{b, append(slices.Clip(b), '\n'), append(slices.Clip(b), "\r\n"...)}
		}},
	{"the body has white space around it", "sign and verify the bytes of the request",
		nil, nil, func(e *evidence) [][]byte { return [][]byte{bytes.TrimSpace(e.body)} }},
	{"the body begins with a byte order mark", "neither add nor remove it: read the body as bytes, not as text",
		nil, nil, func(e *evidence) [][]byte {
			return [][]byte{bytes.TrimPrefix(e.body, bom), append(slices.Clone(bom), e.body...)}
		}},
	{"the body's line ends were changed", "read and save the body as bytes, not as text", nil, nil,
		func(e *evidence) [][]byte {
			lf := bytes.ReplaceAll(e.body, []byte("\r\n"), []byte("\n"))
			return [][]byte{lf, bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))}
		}},
	rewritten("the JSON was made compact", form{}),
	rewritten("the JSON was made compact, with non-ASCII escaped", form{ascii: true}),
	rewritten(`the JSON was made compact, with / written as \/`, form{slashes: true}),
	rewritten(`the JSON was made compact, with non-ASCII escaped and / written as \/`, form{ascii: true, slashes: true}),
	rewritten("the JSON was made compact, with <, > and & escaped", form{html: true}),
	rewritten("the JSON was written with a space after , and :", form{spaces: true}),
	rewritten("the JSON was written with a space after , and :, and non-ASCII escaped", form{spaces: true, ascii: true}),
	rewritten("the JSON was indented by two spaces", form{indent: "  "}),
	rewritten("the JSON was indented by four spaces", form{indent: "    "}),
	rewritten("the JSON was indented by four spaces, with non-ASCII escaped", form{indent: "    ", ascii: true}),
	rewritten("the JSON was indented by tabs", form{indent: "\t"}),
	rewritten("the JSON was made compact, with keys sorted", form{sorted: true}),
	rewritten("the JSON was made compact, with keys sorted and non-ASCII escaped", form{sorted: true, ascii: true}),
	rewritten("the JSON was made compact, with keys sorted and <, > and & escaped", form{sorted: true, html: true}),
	rewritten("the JSON was written with keys sorted and a space after , and :", form{sorted: true, spaces: true}),
	rewritten("the JSON was written with keys sorted, a space after , and :, and non-ASCII escaped",
		form{sorted: true, spaces: true, ascii: true}),
	rewritten("the JSON was indented by two spaces, with keys sorted", form{sorted: true, indent: "  "}),
	{"the body is another event's", "take body and header from the same request",
		nil, nil, func(e *evidence) [][]byte { return e.others }},
	{"the body was empty when it was signed", "read the body before another part of the program has used it up",
		nil, nil, func(*evidence) [][]byte { return [][]byte{{}} }},
}

// rewritten is the attempt that the JSON was parsed and written again.
func rewritten(name string, f form) attempt {
	return attempt{name: name, advice: "keep the raw bytes of the request, and compute the HMAC over these before you parse",
		body: func(e *evidence) [][]byte { return some(rewrite(e.body, f)) }}
}

// truncated is the mistake that only the beginning of the body was signed. It is tried last, because it takes long.
var truncated = attempt{name: "only the beginning of the body was signed",
	advice: "read the whole body before you compute the HMAC; a buffer's size is no limit"}

// maxTruncated bounds the beginnings that are tried, in bytes.
const maxTruncated = 256 << 10

// explain returns the mistakes with which the signature matches, as few as possible: none when it matches as it is.
// nil: nothing matches.
func (e *evidence) explain() []attempt {
	var best []attempt
	digests := map[string]attempt{} // the header's
	for _, a := range attempts {
		if a.header == nil {
			continue
		}
		if d := a.header(e.header); len(d) == sha256.Size {
			if _, known := digests[string(d)]; !known {
				digests[string(d)] = a
			}
		}
	}
	bodies := e.variants(func(a attempt) func(*evidence) [][]byte { return a.body })
	for _, secret := range e.variants(func(a attempt) func(*evidence) [][]byte { return a.secret }) {
		for _, body := range bodies {
			header, ok := digests[string(sum(secret.bytes, body.bytes))]
			if !ok {
				continue
			}
			found := slices.DeleteFunc([]attempt{header, secret.attempt, body.attempt},
				func(a attempt) bool { return a.name == asIs })
			if best == nil || len(found) < len(best) {
				best = found
			}
		}
	}
	if best == nil && e.truncated(digests) {
		return []attempt{truncated}
	}
	return best
}

// Mistake names the difference with which the header matches a body and a secret, in a few words; empty: none was found, or it matches as
// it is. others are the bodies of other events.
func Mistake(header string, body []byte, secret string, others ...[]byte) string {
	e := &evidence{header: header, body: body, secrets: [][]byte{[]byte(secret)}, others: others}
	var names []string
	for _, a := range e.explain() {
		names = append(names, a.name)
	}
	return strings.Join(names, ", and ")
}

// variant is a secret or a body, and the attempt that made it.
type variant struct {
	attempt
	bytes []byte
}

// variants are the secrets or bodies that kind makes, each once.
func (e *evidence) variants(kind func(attempt) func(*evidence) [][]byte) (all []variant) {
	seen := map[[sha256.Size]byte]bool{}
	for _, a := range attempts {
		of := kind(a)
		if of == nil {
			continue
		}
		for _, b := range of(e) {
			if key := sha256.Sum256(b); !seen[key] {
				seen[key] = true
				all = append(all, variant{a, b})
			}
		}
	}
	return all
}

func (e *evidence) truncated(digests map[string]attempt) bool {
	h := hmac.New(sha256.New, bare(e.secrets[0]))
	var digest [sha256.Size]byte
	for i := range min(len(e.body), maxTruncated) {
		if _, ok := digests[string(h.Sum(digest[:0]))]; ok {
			return true
		}
		h.Write(e.body[i : i+1])
	}
	return false
}

// hints are sentences about what can be seen without a match.
func (e *evidence) hints() (all []string) {
	if decodeHex(strings.ToLower(e.header)) == nil && decodeBase64(e.header) == nil {
		all = append(all, "The header is not 64 hex digits: take the value of X-Service-Signature, whole.")
	}
	if !json.Valid(bytes.TrimPrefix(e.body, bom)) {
		all = append(all, "The body is not complete JSON: it may have been cut or changed before it was saved.")
	}
	return all
}

var bom = []byte("\xef\xbb\xbf")

func sum(secret, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(body)
	return h.Sum(nil)
}

// bare is a secret as the commands of hiregate read it from a file: without the line end.
func bare(secret []byte) []byte { return bytes.TrimRight(secret, "\r\n") }

func decodeHex(s string) []byte {
	d, err := hex.DecodeString(s)
	if err != nil || len(d) != sha256.Size || s != strings.ToLower(s) {
		return nil
	}
	return d
}

func decodeBase64(s string) []byte {
	s = strings.TrimRight(s, "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if d, err := encoding.DecodeString(s); err == nil && len(d) == sha256.Size {
			return d
		}
	}
	return nil
}

func decode(by func(string) ([]byte, error), b []byte) []byte {
	if d, err := by(string(b)); err == nil {
		return d
	}
	return nil
}

// some returns the slices that are not nil.
func some(all ...[]byte) [][]byte {
	return slices.DeleteFunc(all, func(b []byte) bool { return b == nil })
}
