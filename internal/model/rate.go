package model

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rate is how many exports a tenant may send, or how many attempts an integration gets.
type Rate struct {
	PerSecond float64 `json:"perSecond" schema:"exclusiveMinimum=0 maximum=1000000"`
	Burst     int     `json:"burst" schema:"minimum=1 maximum=1000000"`
}

// MaxRate is the largest rate, in exports a second, and the largest burst.
const MaxRate = 1_000_000

var errRate = errors.New("rate takes how many may come in a second, and how many at once: write, for example, " +
	"`rate 50/s burst 200`; /m and /h are known, too")

// rateUnit is a unit of time in which a rate is written.
type rateUnit struct {
	name    string
	seconds float64
}

var rateUnits = []rateUnit{{"s", 1}, {"m", 60}, {"h", 3600}}

// ParseRate reads a rate as it is written in a Caddyfile, word by word: 50/s burst 200. Without a burst it is the first
// number.
func ParseRate(words []string) (*Rate, error) {
	if len(words) != 1 && (len(words) != 3 || words[1] != "burst") {
		return nil, errRate
	}
	number, unit, _ := strings.Cut(words[0], "/")
	n, err := strconv.ParseFloat(number, 64)
	per := slices.IndexFunc(rateUnits, func(u rateUnit) bool { return u.name == unit })
	if per < 0 || err != nil {
		return nil, errRate
	}
	r := &Rate{PerSecond: n / rateUnits[per].seconds, Burst: int(max(1, min(n, MaxRate)))}
	if len(words) == 3 {
		if r.Burst, err = strconv.Atoi(words[2]); err != nil {
			return nil, errRate
		}
	}
	return r, r.Validate()
}

// String returns the rate as ParseRate reads it: in the smallest unit in which it is one at least and six digits say all
// of it, or else, whatever it takes, by the second.
func (r Rate) String() string {
	for _, per := range rateUnits {
		text := strconv.FormatFloat(r.PerSecond*per.seconds, 'g', 6, 64)
		n, err := strconv.ParseFloat(text, 64)
		if err == nil && (n >= 1 || per.name == "h") && n/per.seconds == r.PerSecond {
			return fmt.Sprintf("%s/%s burst %d", text, per.name, r.Burst)
		}
	}
	return fmt.Sprintf("%s/s burst %d", strconv.FormatFloat(r.PerSecond, 'g', -1, 64), r.Burst)
}

// Validate says which rule of a rate is broken, as Tenant.Validate does.
func (r *Rate) Validate() error {
	if !(r.PerSecond > 0 && r.PerSecond <= MaxRate) || r.Burst < 1 || r.Burst > MaxRate { // NaN is no rate either
		return fmt.Errorf("a rate is how many may come in a second, and how many at once: use numbers "+
			"above 0, each at most %d", MaxRate)
	}
	return nil
}
