package webhook

// HeaderBound is the most bytes a received Event, UUID, Link or Export-Context header may have. None of them is covered by
// the signature.
const HeaderBound = 1024

// ValidUUID reports whether an export's key is 1 to 255 visible ASCII bytes (0x21–0x7E). Beyond that it is opaque.
func ValidUUID[T string | []byte](key T) bool {
	if len(key) < 1 || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] < 0x21 || key[i] > 0x7e {
			return false
		}
	}
	return true
}
