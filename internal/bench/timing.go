package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// timing asks each door with a wrong password, in turn by chance for a user that there is and for one that there is not, and tells
// whether the answers' times differ. Each request comes from an address of its own, so that nobody is slowed down for failures.
func (b *bench) timing(times int) error {
	s, err := serve(b.binary, options{folder: filepath.Join(b.dir, "timing"), site: signinSite, global: "servers {\ntrusted_proxies static 127.0.0.1/32\n}"})
	if err != nil {
		return err
	}
	defer s.stop()
	m := managed{"http://" + s.address + "/manage/v1"}
	if err := m.post("/users", map[string]any{"email": "known@example.com", "password": "correct horse"}); err != nil {
		return err
	}
	if err := m.post("/oauth-clients", map[string]any{"id": "bench", "secret": secret, "name": "Bench", "redirectUris": []string{benchCallback}}); err != nil {
		return err
	}
	say("%d wrong passwords for a known user and as many for unknown ones", times)
	var known, unknown []time.Duration
	status := 0 // of every answer
	for n := 0; len(known) < times || len(unknown) < times; n++ {
		// 10.x.y.z, each once
		b := &browser{issuer: "http://" + s.address + "/signin", from: fmt.Sprintf("10.%d.%d.%d", n>>16&0xff, n>>8&0xff, n&0xff)}
		page, err := b.page()
		if err != nil {
			return err
		}
		email, into := "known@example.com", &known
		if len(known) == times || len(unknown) < times && rand.IntN(2) == 0 {
			email, into = fmt.Sprintf("u%04d@example.com", rand.IntN(10000)), &unknown // as long as the other
		}
		began := time.Now()
		answer, err := b.submit(page, email, "wrong horse")
		if err != nil {
			return err
		}
		if status = cmp.Or(status, answer.StatusCode); answer.StatusCode != status || status == 429 || status < 400 {
			return fmt.Errorf("a wrong password was answered %d, another one %d", answer.StatusCode, status)
		}
		*into = append(*into, time.Since(began))
	}
	low, high := differenceOfMedians(known, unknown)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "wrong passwords\tanswers\tmedian\t\t")
	fmt.Fprintf(w, "for a known user\t%d\t%s\t\t\n", len(known), median(known).Round(time.Microsecond))
	fmt.Fprintf(w, "for unknown ones\t%d\t%s\t\t\n", len(unknown), median(unknown).Round(time.Microsecond))
	fmt.Fprintf(w, "difference, 95 %% interval\t\t%s\tto %s\t\n", low.Round(time.Microsecond), high.Round(time.Microsecond))
	fmt.Fprintf(w, "Mann-Whitney, two-sided p\t\t%.3f\t\t\n", mannWhitney(known, unknown))
	return w.Flush()
}

func median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// differenceOfMedians is the interval that holds 95 of 100 differences between the medians of resampled a and b.
func differenceOfMedians(a, b []time.Duration) (low, high time.Duration) {
	const samples = 2000
	again := func(from []time.Duration) time.Duration {
		sample := make([]time.Duration, len(from))
		for n := range sample {
			sample[n] = from[rand.IntN(len(from))]
		}
		return median(sample)
	}
	differences := make([]time.Duration, samples)
	for n := range differences {
		differences[n] = again(a) - again(b)
	}
	slices.Sort(differences)
	return differences[samples*25/1000], differences[samples*975/1000]
}

// mannWhitney is the two-sided p of the Mann-Whitney U test, by its normal approximation: how often samples of one and the same
// distribution differ as much as these. Ties, rare among nanoseconds, count as they come.
func mannWhitney(a, b []time.Duration) float64 {
	type one struct {
		took  time.Duration
		first bool
	}
	var all []one
	for _, d := range a {
		all = append(all, one{d, true})
	}
	for _, d := range b {
		all = append(all, one{d, false})
	}
	slices.SortFunc(all, func(x, y one) int { return cmp.Compare(x.took, y.took) })
	ranks := 0.0
	for n, o := range all {
		if o.first {
			ranks += float64(n + 1)
		}
	}
	na, nb := float64(len(a)), float64(len(b))
	u := ranks - na*(na+1)/2
	z := (u - na*nb/2) / math.Sqrt(na*nb*(na+nb+1)/12)
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}
