// Package caddyfile carries the Caddyfiles that people start from.
package caddyfile

import _ "embed"

// Dev is dev.Caddyfile, which `hiregate dev` writes down and runs the gateway with.
//
//go:embed dev.Caddyfile
var Dev []byte
