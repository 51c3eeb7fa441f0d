package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// adapting are the commands of Caddy that read a configuration.
var adapting = []string{"run", "start", "stop", "validate", "reload"}

// guessAdapter adds --adapter caddyfile to the arguments of a command whose file is a Caddyfile by its content. Caddy
// goes by its name, and takes one of another name for JSON.
func guessAdapter(args []string) []string {
	if len(args) < 2 || !slices.Contains(adapting, args[1]) {
		return args
	}
	file := ""
	for n, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch name {
		case "--adapter", "-a":
			return args
		case "--config", "-c":
			if file = value; !joined && n+1 < len(args) {
				file = args[n+1]
			}
		}
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".json", ".json5", ".jsonc", ".yaml", ".yml", ".toml":
		return args
	}
	if text, err := os.ReadFile(file); err != nil || looksLikeJSON(text) {
		return args
	}
	return append(slices.Clone(args), "--adapter", "caddyfile")
}

var beginsAsJSON = regexp.MustCompile(`^\s*[{\[]\s*["}\]]`)

// looksLikeJSON reports whether a configuration begins as JSON does. A Caddyfile may begin with a brace as well.
func looksLikeJSON(text []byte) bool {
	return len(bytes.TrimSpace(text)) == 0 || beginsAsJSON.Match(text)
}
