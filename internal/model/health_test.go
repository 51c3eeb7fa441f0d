package model_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestTally(t *testing.T) {
	var tally model.Tally
	require.Zero(t, tally.Quantile(0.5))
	for n := range 90 {
		tally.Add("", time.Duration(n%10)*time.Millisecond/10) // up to 1 ms
	}
	for range 8 {
		tally.Add(model.ClassPartnerFault, 2*time.Second)
	}
	tally.Add(model.ClassDataFault, time.Minute)
	tally.Add(model.ClassOurFault, 20*time.Second)
	require.Equal(t, []int64{100, 90, 8, 1, 1},
		[]int64{tally.Attempts, tally.Delivered, tally.PartnerFault, tally.DataFault, tally.OurFault})
	require.InDelta(t, 0.005*50/90, tally.Quantile(0.5).Seconds(), 1e-6, "within the first bucket")
	require.InDelta(t, 1.0+1.5*5/8, tally.Quantile(0.95).Seconds(), 1e-6, "the fifth of the eight between 1 and 2.5 s")
	require.Equal(t, 20*time.Second, tally.Quantile(1))
}

func TestHealth(t *testing.T) {
	at := time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)
	var h model.Health
	next := func(fault model.Class) {
		at = at.Add(time.Second)
		h.Add(fault, "because", at)
	}
	next("")
	require.Equal(t, model.Health{LastSuccess: at}, h)
	next(model.ClassPartnerFault)
	since := at
	next(model.ClassDataFault)
	next(model.ClassPartnerFault)
	require.False(t, h.Failing(), "the data was to blame once")
	next(model.ClassOurFault)
	require.True(t, h.Failing())
	require.Equal(t, since, h.FailingSince)
	require.Equal(t, model.ClassOurFault, h.Class)
	next("")
	require.Equal(t, model.Health{LastSuccess: at, Recovered: at}, h)
	recovered := at
	next("")
	require.Equal(t, recovered, h.Recovered, "it was well already")
}

// One refused body is the body's fault. Ten different ones, with none received since, or most of what is sent in an
// hour, are the integration's.
func TestRefusals(t *testing.T) {
	const data, partner = model.ClassDataFault, model.ClassPartnerFault
	begin := time.Date(2026, 11, 24, 10, 2, 0, 0, time.UTC)
	type attempt struct {
		export int64
		fault  model.Class
	}
	many := func(n int, exports int64, faults ...model.Class) (all []attempt) {
		for i := range n {
			all = append(all, attempt{int64(i) % exports, faults[i%len(faults)]})
		}
		return all
	}
	for name, c := range map[string]struct {
		every    time.Duration
		attempts []attempt
		refusing bool
	}{
		"ten different exports, each once, a day apart": {24 * time.Hour, many(10, 10, data), true},
		"nine of them":                          {24 * time.Hour, many(9, 9, data), false},
		"the same nine again and again, slowly": {time.Hour, many(90, 9, data), false},
		"one export again and again":            {time.Second, many(90, 1, data), false},
		"two exports, ten attempts in an hour":  {time.Minute, many(10, 2, data), true},
		"nine attempts in an hour":              {time.Minute, many(9, 2, data), false},
		"over half of them":                     {time.Minute, many(11, 11, data, data, ""), true},
		"half of them":                          {time.Minute, many(10, 10, data, ""), false},
		"others fail otherwise":                 {24 * time.Hour, many(15, 15, data, data, data, partner), true},
		"and nothing more comes for days": {48 * time.Hour,
			append(many(10, 10, data), attempt{3, data}), true},
		"one is received then":             {24 * time.Hour, append(many(10, 10, data), attempt{11, ""}), false},
		"one is received in the same hour": {time.Minute, append(many(20, 10, data), attempt{11, ""}), true},
		"three in a row are":               {time.Minute, append(many(20, 10, data), many(3, 3, "")...), false},
		"a few are refused after that": {time.Minute,
			slices.Concat(many(20, 10, data), many(3, 3, ""), many(9, 9, data)), false},
		"nothing": {time.Minute, many(10, 10, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			var h model.Health
			at := begin
			for _, a := range c.attempts {
				h.Add(a.fault, "because", at)
				h.Refusals.Add(a.export, a.fault, 422, at)
				at = at.Add(c.every)
			}
			require.Equal(t, c.refusing, h.Refusing(), "%+v", h.Refusals)
			if c.refusing {
				require.Equal(t, begin, h.Refusals.Since)
				require.EqualValues(t, len(c.attempts), h.Refusals.Attempts)
			}
		})
	}
}

// An integration that refuses and then can't be reached is failing, and refuses again once its last attempts were
// refused.
func TestFailingOrRefusing(t *testing.T) {
	at := time.Date(2026, 11, 24, 10, 2, 0, 0, time.UTC)
	var h model.Health
	next := func(n int, fault model.Class) {
		for i := range n {
			h.Add(fault, "because", at)
			h.Refusals.Add(int64(i), fault, 422, at)
		}
	}
	next(10, model.ClassDataFault)
	require.True(t, h.Refusing())
	next(3, model.ClassPartnerFault)
	require.True(t, h.Failing())
	require.False(t, h.Refusing())
	next(3, model.ClassDataFault)
	require.True(t, h.Refusing())
}
