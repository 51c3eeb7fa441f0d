package documents

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hiregate/hiregate/internal/model"
)

// maxCleanName is the longest file name that common file systems take, in bytes.
const maxCleanName = 255

// cleanName returns a bare file name for a name that was sent: no folders, no control characters, valid UTF-8, at most
// 255 bytes with the extension kept. It may be empty.
func cleanName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(c rune) rune {
		if model.IsUnseen(c) { // with a direction, a name can show a false extension
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
