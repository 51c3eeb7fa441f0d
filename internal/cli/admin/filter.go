package admin

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// filter is a flag of a list that chooses among its items.
type filter struct {
	flag, help string
	parameter  string // of the query; empty: the name of the flag
	boolean    bool   // it has no value
	time       bool   // its value is a time, or how long ago that was
	ofTenant   bool   // its value is a name within a tenant
	ofAll      bool   // it chooses among tenants
	follows    bool   // it goes with a list of what comes from now on
}

// labelFilter chooses the tenants that have a label.
var labelFilter = filter{flag: "label", ofAll: true, follows: true, help: "of tenants that have this label, such as region=north"}

func (f *filter) add(fl *pflag.FlagSet) {
	if f.boolean {
		fl.Bool(f.flag, false, f.help)
	} else {
		fl.String(f.flag, "", f.help)
	}
}

// apply adds what the flag says to a query. tenant reports whether the list is that of one tenant.
func (f *filter) apply(fl *pflag.FlagSet, query url.Values, tenant bool) error {
	value := fl.Lookup(f.flag).Value.String()
	switch {
	case value == "" || f.boolean && value != "true":
		return nil
	case f.ofTenant && !tenant:
		return fmt.Errorf("--%s is a name within a tenant: add --tenant", f.flag)
	case f.ofAll && tenant:
		return fmt.Errorf("--%s chooses among all tenants: leave out --tenant", f.flag)
	case f.time:
		return setTime(query, f.flag, cmp.Or(f.parameter, f.flag), value)
	}
	query.Set(cmp.Or(f.parameter, f.flag), value)
	return nil
}

// setTime adds the value of a flag such as --since to a query, as a parameter, unless it is empty.
func setTime(query url.Values, flag, parameter, value string) error {
	if value == "" {
		return nil
	}
	at, err := terminal.ParseTime(value, time.Now())
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	query.Set(parameter, at.Format(time.RFC3339Nano))
	return nil
}
