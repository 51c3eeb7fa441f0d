package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var placeholders = regexp.MustCompile(`\{(?:env|file)\.[^{}]+\}`)

// place is the position in a Caddyfile of a placeholder, or of the name of an option or directive.
type place struct {
	word, file string
	line       int
}

// known has the positions in a Caddyfile.
type known []place

// of returns the position of an option or directive, as the end of a sentence; empty if it is not known.
func (k known) of(name string) string {
	var at []string
	for _, p := range k {
		if p.word == name {
			at = append(at, fmt.Sprintf("%s:%d", p.file, p.line))
		}
	}
	if len(at) == 0 {
		return ""
	}
	return ", at " + strings.Join(at, " or ")
}

// places holds the positions in the Caddyfile that was read last. A configuration is provisioned from JSON, which has
// no lines: the configuration that is provisioned right after a Caddyfile was read takes them. Configurations that
// arrive as JSON, as from hiregate reload, find none.
var places struct {
	mu  sync.Mutex
	all known
}

// notePlaces records the placeholders in a word of a Caddyfile.
func notePlaces(word, file string, line int) {
	for _, one := range placeholders.FindAllString(word, -1) {
		notePlace(one, file, line)
	}
}

// notePlace records the position of a word.
func notePlace(word, file string, line int) {
	places.mu.Lock()
	defer places.mu.Unlock()
	places.all = append(places.all, place{word, file, line})
}

// takePlaces returns the recorded positions, and forgets them.
func takePlaces() known {
	places.mu.Lock()
	defer places.mu.Unlock()
	all := places.all
	places.all = nil
	return all
}

// unresolved returns an error that names all placeholders without a value, if one in needed, which is encoded as JSON,
// has none. If their positions are not known it returns nil: an error that names tenant and integration follows.
func unresolved(places known, needed any, resolve resolve) error {
	if len(places) == 0 {
		return nil
	}
	empty := map[string]bool{}
	isEmpty := func(placeholder string) bool {
		if _, asked := empty[placeholder]; !asked {
			text, err := resolve(placeholder)
			empty[placeholder] = err != nil || strings.TrimRight(text, "\r\n") == ""
		}
		return empty[placeholder]
	}
	missing := slices.DeleteFunc(slices.Clone(places), func(p place) bool {
		return !placeholder.MatchString(p.word) || !isEmpty(p.word)
	})
	if !slices.ContainsFunc(placeholdersOf(needed), func(one string) bool {
		return slices.ContainsFunc(missing, func(p place) bool { return p.word == one })
	}) {
		return nil
	}
	var list []string
	for _, p := range missing {
		list = append(list, fmt.Sprintf("%s at %s:%d%s", p.word, p.file, p.line, forbidden(p.word)))
	}
	return fmt.Errorf("placeholders without a value: %s; set the variable, or write the file, of each "+
		"before the gateway starts", strings.Join(list, ", "))
}

// forbidden says so if a placeholder has no value because its file may not be read; otherwise it is empty. Caddy does not tell
// that from a file that is not there.
func forbidden(placeholder string) string {
	path, isFile := strings.CutPrefix(strings.TrimSuffix(placeholder, "}"), "{file.")
	if !isFile {
		return ""
	}
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return fmt.Sprintf(" (permission denied: let the gateway's user, id %d, read the file and enter its folders)", os.Geteuid())
}

func placeholdersOf(settings any) (all []string) {
	raw, _ := json.Marshal(settings) // of strings and numbers: can't fail
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if text, ok := token.(string); ok {
			all = append(all, placeholders.FindAllString(text, -1)...)
		}
	}
}
