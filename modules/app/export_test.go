package app

import "github.com/hiregate/hiregate/internal/gateway"

// PoolReferences is how many configurations hold the database and the runtime that the settings name.
// Settings.Database is what store.Identity gives, Settings.Documents what documents.Identity gives.
func PoolReferences(s gateway.Settings) (ofDatabase, ofRuntime int) {
	ofDatabase, _ = databases.References(s.Database)
	ofRuntime, _ = runtimes.References(s)
	return ofDatabase, ofRuntime
}
