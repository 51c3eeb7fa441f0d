package platform

import "os"

// HasHardLink returns false: here, a file's information does not have the number of its names.
func HasHardLink(os.FileInfo) bool { return false }
