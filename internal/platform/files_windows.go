package platform

// openFilesLimit is empty: Windows has no such limit.
func openFilesLimit() string { return "" }
