package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// timing gives wrong passwords at both doors, in turn by chance for a user that there is and for ones that there are
// not, and reports whether the answers' times differ.
func (b *bench) timing(times int) error {
	s, err := b.serve(options{
		site: signinSite + "\n" + applySite, global: "servers {\ntrusted_proxies static " +
			"127.0.0.1/32\ntrusted_proxies_strict\n}",
	})
	if err != nil {
		return err
	}
	defer s.stop()
	m := managed{"http://" + s.address + "/manage/v1"}
	if err := m.post(
		resource{"/users", object{"email": knownUser, "password": "correct horse"}}, benchClient("RS256"),
		resource{"/tenants/acme/api-users", object{"userName": knownUser, "password": "correct horse"}},
	); err != nil {
		return err
	}
	for _, door := range []struct {
		name string
		ask  func(user, from string) (status int, took time.Duration, err error)
	}{
		{"sign-in page", s.wrongAtSignIn},
		{"Apply API", s.wrongAtApply},
	} {
		say("%s: %d wrong passwords for a known user and as many for unknown ones", door.name, times)
		known, unknown, err := compare(times, door.ask)
		if err != nil {
			return fmt.Errorf("%s: %w", door.name, err)
		}
		low, high := differenceOfMedians(known, unknown)
		w := table()
		fmt.Fprintf(w, "\nwrong passwords, %s\tanswers\tmedian\t\t\n", door.name)
		fmt.Fprintf(w, "for a known user\t%d\t%s\t\t\n", len(known), median(known).Round(time.Microsecond))
		fmt.Fprintf(w, "for unknown ones\t%d\t%s\t\t\n", len(unknown), median(unknown).Round(time.Microsecond))
		fmt.Fprintf(w, "difference, 95 %% interval\t\t%s\tto %s\t\n", low.Round(time.Microsecond),
			high.Round(time.Microsecond))
		fmt.Fprintf(w, "Mann-Whitney, two-sided p\t\t%.3f\t\t\n", mannWhitney(known, unknown))
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

const (
	knownUser     = "known@example.com"
	wrongPassword = "wrong horse"
)

// compare gives wrong passwords until there are enough answers of both kinds. Each comes from an address of its own,
// so that nobody is slowed down for failures.
func compare(
	times int, ask func(user, from string) (int, time.Duration, error),
) (known, unknown []time.Duration, err error) {
	first := 0 // status of the first answer, and so of all
	for n := 0; len(known) < times || len(unknown) < times; n++ {
		user, into := knownUser, &known
		if len(known) == times || len(unknown) < times && rand.IntN(2) == 0 {
			user, into = fmt.Sprintf("u%04d@example.com", rand.IntN(10000)), &unknown // as long as the other
		}
		status, took, err := ask(user, fmt.Sprintf("10.%d.%d.%d", n>>16&0xff, n>>8&0xff, n&0xff))
		if err != nil {
			return nil, nil, err
		}
		if first = cmp.Or(first, status); status != first || status == http.StatusTooManyRequests || status < 400 {
			return nil, nil, fmt.Errorf("a wrong password was answered %d, another one %d", status, first)
		}
		*into = append(*into, took)
	}
	return known, unknown, nil
}

func (s *server) wrongAtSignIn(user, from string) (status int, took time.Duration, err error) {
	b := &browser{issuer: "http://" + s.address + "/signin", from: from}
	page, err := b.page()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	answer, err := b.submit(page, user, wrongPassword)
	if err != nil {
		return 0, 0, err
	}
	return answer.StatusCode, time.Since(began), nil
}

func (s *server) wrongAtApply(user, from string) (status int, took time.Duration, err error) {
	r, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/apply/v2/authentication",
		strings.NewReader(`{"userName":"`+user+`","password":"`+wrongPassword+`"}`))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Forwarded-For", from)
	began := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, time.Since(began), err
}

func median(all []time.Duration) time.Duration {
	_, middle, _ := quartiles(all)
	return middle
}

// quartiles of figures, at least one, in any order.
func quartiles[T cmp.Ordered](all []T) (lower, middle, upper T) {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/4], sorted[len(sorted)/2], sorted[len(sorted)*3/4]
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

// mannWhitney is the two-sided p of the Mann-Whitney U test, by its normal approximation: how often samples of one and
// the same distribution differ as much as these. Ties, rare among nanoseconds, count as they come.
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
