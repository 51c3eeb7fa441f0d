package main

import (
	"os"
	"time"
	_ "time/tzdata" // the image has no time zones of its own
)

// useZone makes the zone that TZ names the local one. Go looks it up the first time it is needed, and packages
// do so before the zones in the binary are there: where the system has none, the local zone would be UTC for good.
func useZone() {
	if zone, err := time.LoadLocation(os.Getenv("TZ")); err == nil && os.Getenv("TZ") != "" {
		time.Local = zone
	}
}
