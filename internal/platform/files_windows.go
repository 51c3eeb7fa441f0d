package platform

// SyncFolder does nothing: Windows has no such call.
func SyncFolder(string) error { return nil }

// openFilesLimit is empty: Windows has no such limit.
func openFilesLimit() string { return "" }
