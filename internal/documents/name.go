package documents

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxCleanName is the longest file name that common file systems take, in bytes.
const maxCleanName = 255

// cleanName returns a bare file name for a name that was sent: no folders, no control characters, valid UTF-8, at most
// 255 bytes with the extension kept. It may be empty.
func cleanName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || isDirection(c) {
			return -1
		}
		return c
	}, name)
	name = strings.TrimSpace(name)
	if strings.Trim(name, ".") == "" {
		return ""
	}
	if len(name) <= maxCleanName {
		return name
	}
	extension := extensionOf(name)
	return truncate(name[:len(name)-len(extension)], maxCleanName-len(extension)) + extension
}

// isDirection reports whether a character turns the direction of text, with which a name can show a false extension.
func isDirection(c rune) bool {
	return '\u202a' <= c && c <= '\u202e' || '\u2066' <= c && c <= '\u2069'
}

// extensionOf returns the extension with its dot; empty if the text after the last dot does not look like one.
func extensionOf(name string) string {
	const longest = 10
	extension := path.Ext(name)
	if len(extension) < 2 || len(extension) > longest || len(extension) == len(name) {
		return ""
	}
	for _, c := range extension[1:] {
		if c >= utf8.RuneSelf || !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return ""
		}
	}
	return extension
}

// truncate cuts s to at most length bytes, between characters.
func truncate(s string, length int) string {
	if len(s) <= length {
		return s
	}
	for length > 0 && !utf8.RuneStart(s[length]) {
		length--
	}
	return s[:length]
}
