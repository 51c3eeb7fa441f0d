// Package version names the build.
package version

// Version is set when the program is built: -ldflags "-X github.com/hiregate/hiregate/internal/version.Version=v1.2.3".
var Version = "dev"

// String is the version as people see it.
func String() string { return Version }
