package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type tenantFrom struct {
	segment   int
	parameter string
}

func (f tenantFrom) TenantSegment() (int, bool) { return f.segment, f.parameter == "" }
func (f tenantFrom) TenantParameter() string    { return f.parameter }

// The tenant is filled into what a pattern leaves open, and nothing is told of a pattern that leaves more open.
func TestInboundPaths(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]struct {
		from tenantFrom
		path string
	}{
		"/hooks/*":         {tenantFrom{1, ""}, "/hooks/any-tenant"},
		"/hooks*":          {tenantFrom{1, ""}, "/hooks/any-tenant"},
		"/*":               {tenantFrom{0, ""}, "/any-tenant"}, // below handle_path
		"/in/*/exports":    {tenantFrom{1, ""}, "/in/any-tenant"},
		"/inbound":         {tenantFrom{0, "client"}, "/inbound?client=any-tenant"},
		"/inbound/*":       {tenantFrom{0, "client"}, "/inbound?client=any-tenant"},
		"/*/hooks/*":       {tenantFrom{2, ""}, ""},
		"/hooks":           {tenantFrom{3, ""}, ""},
		"/hooks/acme":      {tenantFrom{1, ""}, ""},
		"/hooks/receipt/*": {tenantFrom{1, ""}, ""},
	} {
		path, ok := hookPath(pattern, want.from)
		if !ok {
			path = ""
		}
		require.Equal(t, want.path, path, pattern)
	}
}
