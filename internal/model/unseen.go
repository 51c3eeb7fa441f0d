package model

import "unicode"

// IsUnseen reports whether a character has no sign of its own and changes how the text around it is shown: a control
// character (C0, DEL, C1), or one that overrides or isolates the direction of text. Those that names need, such as the
// joiners of Persian and Hindi (ZWJ, ZWNJ) and the marks of direction (LRM, RLM), are none.
func IsUnseen(c rune) bool {
	return unicode.IsControl(c) || '\u202a' <= c && c <= '\u202e' || '\u2066' <= c && c <= '\u2069'
}
