package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/model"
)

// Head returns the beginning of an answer as people read it: JSON is indented, of a page the text is left, and the rest is
// as it came.
func (view) Head(answer string) string {
	const most = 2000
	var indented bytes.Buffer
	switch text := strings.TrimSpace(answer); {
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		if json.Indent(&indented, []byte(text), "", "  ") == nil {
			answer = indented.String()
		}
	case isPage(text):
		answer = textOf(text)
	}
	if runes := []rune(answer); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return answer
}

func isPage(text string) bool {
	begin := strings.ToLower(text[:min(len(text), 100)])
	return strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// inLine are elements of a page that begin no line.
var inLine = []string{"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "u"}

// textOf returns the text of a page, a line for each of its blocks.
func textOf(page string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	hidden := false
	for {
		switch z.Next() {
		case html.ErrorToken: // its end
			var lines []string
			for line := range strings.Lines(b.String()) {
				if words := strings.Fields(line); len(words) > 0 {
					lines = append(lines, strings.Join(words, " "))
				}
			}
			return strings.Join(lines, "\n")
		case html.TextToken:
			if !hidden {
				b.WriteString(strings.ReplaceAll(string(z.Text()), "\n", " "))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if !slices.Contains(inLine, t.Data) {
				b.WriteString("\n")
			}
			hidden = t.Type == html.StartTagToken && (t.Data == "script" || t.Data == "style")
		}
	}
}

// meaning names what an attempt means that was not received, and who has to act; empty: the reason says it all.
func meaning(a api.Attempt) string {
	switch {
	case a.Status == 0 && a.Why != nil && a.Why.Code == "timeout":
		return "timeout"
	case a.Status/100 == 3:
		return "redirect"
	case a.Class == model.ClassDataFault && a.Status != http.StatusRequestEntityTooLarge:
		return "data"
	}
	return map[int]string{http.StatusUnauthorized: "credentials", http.StatusForbidden: "credentials",
		http.StatusProxyAuthRequired: "credentials", http.StatusNotFound: "address", http.StatusMethodNotAllowed: "address",
		http.StatusRequestEntityTooLarge: "large", http.StatusTooManyRequests: "busy", http.StatusServiceUnavailable: "busy",
		http.StatusInternalServerError: "error", http.StatusBadGateway: "proxy", http.StatusGatewayTimeout: "proxy"}[a.Status]
}
