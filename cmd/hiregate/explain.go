package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

var (
	// answered matches what a running gateway said to a reload.
	answered = regexp.MustCompile(`^sending configuration to instance: caddy responded with error: HTTP \d+: (\{.*\})\s*$`)
	// unreached matches a reload or a stop that found nobody.
	unreached = regexp.MustCompile(`^(?:sending configuration to instance: )?performing request: .*dial \w+ (\S+): connect: (?:connection refused|no such file or directory)$`)
	// ahead matches the words that Caddy puts before the sentence: how it came to the module, some of which belong to others.
	ahead = regexp.MustCompile(`^(?:(?:adapting config using \w+|parsing caddyfile tokens for '\w+'|loading (?:(?:initial |new )?config|\w+ app module|` +
		`handler modules|module '[\w.]+')|\w+ app module|start|listening on shared/\S+|provision [\w.]+|server \w+|setting up (?:route handlers|subroutes)|` +
		`(?:route|position) \d+): )+`)
	// behind matches the place in the file that our sentences, and some of Caddy's, end with; the first one is the closest.
	behind = regexp.MustCompile(`^(.*?),? at ([^\s,()]+:\d+)\b(.*)$`)
	// before is how Caddy's own errors say it.
	before = regexp.MustCompile(`^([^\s,()]+:\d+)(?::| -)? (?:Error during parsing: )?(.*)$`)

	ofOption  = regexp.MustCompile(`parsing caddyfile tokens for '(\w+)': `)
	directive = regexp.MustCompile(`unrecognized directive: (\S+)`)
	global    = regexp.MustCompile(`unrecognized global option: (\S+)`)
	unknown   = regexp.MustCompile(`(\S+) is unknown here: write (.*)`)
	forbidden = regexp.MustCompile(`listen (?:tcp|udp)\d? (\S+): bind: permission denied`)
	taken     = regexp.MustCompile(`listen (?:tcp|udp)\d? (\S+): bind: address already in use`)
)

// explained says what is wrong with a configuration: a mistake in the braces of its file, if there is one, since Caddy
// takes it for another mistake; else the text of Caddy, a sentence a line.
func explained(cmd *cobra.Command, err error) string {
	file, _ := cmd.Flags().GetString("config")
	if file == "" {
		file = "Caddyfile"
	}
	var written []line
	if text, reading := os.ReadFile(file); reading == nil && !looksLikeJSON(text) {
		if line, sentence := misplaced(string(text)); line > 0 {
			return fmt.Sprintf("%s:%d: %s", file, line, sentence)
		}
		written = linesOf(string(text))
	}
	text := strings.TrimSpace(err.Error())
	if at := answered.FindStringSubmatch(text); at != nil {
		var answer struct{ Error string }
		if json.Unmarshal([]byte(at[1]), &answer) == nil {
			text = answer.Error
		}
	}
	if at := unreached.FindStringSubmatch(text); at != nil {
		return fmt.Sprintf("no gateway runs at %s: name its admin endpoint with --address, or start it with `hiregate run`", at[1])
	}
	var lines []string
	for sentence := range strings.SplitSeq(text, "\n") {
		lines = append(lines, advised(sentence, file, written))
	}
	return strings.Join(lines, "\n")
}

// advised is a sentence of Caddy with its place at the beginning, and with what to do where Caddy does not say it.
func advised(text, file string, written []line) string {
	sentence := placed(text)
	place := func(word string) { // of the only line that begins with it
		n := 0
		for _, l := range written {
			if first, _, _ := strings.Cut(l.text, " "); first == word {
				if n > 0 {
					return
				}
				n = l.number
			}
		}
		if n > 0 {
			sentence = fmt.Sprintf("%s:%d: %s", file, n, before.ReplaceAllString(sentence, "$2"))
		}
	}
	write := func(word string, names []string) string {
		if nearest := terminal.Nearest(word, names); nearest != "" {
			return "did you mean " + nearest + "? Write"
		}
		return "write"
	}
	if at := unknown.FindStringSubmatch(sentence); at != nil {
		names := strings.FieldsFunc(at[2], func(r rune) bool { return r == ',' || r == ' ' })
		return strings.Replace(sentence, " is unknown here: write", " is unknown here: "+write(at[1], names), 1)
	}
	if at := directive.FindStringSubmatch(sentence); at != nil {
		// Of a directive in a block Caddy names the line in which the block ends.
		place(at[1])
		sentence, _, _ = strings.Cut(sentence, " - are you sure")
		return sentence + ": " + write(at[1], directives()) + " a directive of hiregate or of Caddy"
	}
	if at := global.FindStringSubmatch(sentence); at != nil {
		return sentence + ": " + write(at[1], globals) + " hiregate, or a global option of Caddy"
	}
	if at := taken.FindStringSubmatch(sentence); at != nil {
		return fmt.Sprintf("another program listens at %s: stop it, or have this gateway listen elsewhere: at another port of the site, "+
			"or with the global options http_port, https_port or admin (%s)", at[1], sentence)
	}
	if at := forbidden.FindStringSubmatch(sentence); at != nil {
		return fmt.Sprintf("this user may not listen at %s: give the process CAP_NET_BIND_SERVICE, as the unit of systemd does, or set "+
			"the global options http_port and https_port (%s)", at[1], sentence)
	}
	if at := ofOption.FindStringSubmatch(text); at != nil && !before.MatchString(sentence) {
		place(at[1])
	}
	if strings.Contains(sentence, "in duration ") || strings.Contains(sentence, "time: invalid duration ") {
		sentence += ": write, for example, 30s, 5m or 1h30m"
	}
	return sentence
}

// globals are the global options that a gateway often has.
var globals = []string{"hiregate", "admin", "email", "servers", "log", "http_port", "https_port", "grace_period", "shutdown_delay",
	"storage", "skip_install_trust", "auto_https", "acme_ca", "default_bind", "order", "debug", "metrics", "local_certs"}

// directives are the names that a directive may have: those of the handlers, and what Caddy calls otherwise.
func directives() []string {
	names := []string{"bind", "handle", "handle_path", "header", "import", "log", "redir", "request_header", "respond", "rewrite", "route", "tls", "uri"}
	for _, module := range caddy.GetModules("http.handlers") {
		names = append(names, module.ID.Name())
	}
	slices.Sort(names)
	return names
}

// placed puts the place that a sentence is about at its beginning, where it is known: file:line: sentence.
func placed(text string) string {
	text = ahead.ReplaceAllString(strings.TrimSpace(text), "")
	if at := before.FindStringSubmatch(text); at != nil && inFile(at[1]) {
		return at[1] + ": " + at[2]
	}
	if at := behind.FindStringSubmatch(text); at != nil && inFile(at[2]) {
		if strings.HasPrefix(at[3], "; ") || strings.HasPrefix(at[3], ", {") { // it goes on, with further places
			return at[2] + ": " + text
		}
		sentence := at[1]
		if strings.Count(sentence, "(") > strings.Count(sentence, ")") {
			sentence += ")"
		}
		return at[2] + ": " + sentence
	}
	return text
}

// inFile reports whether a place is one in a file, and no address.
func inFile(place string) bool {
	file, _, _ := strings.Cut(place, ":")
	_, err := os.Stat(file)
	return err == nil
}
