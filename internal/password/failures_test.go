package password_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/password"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newClock() *clock { return &clock{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

// fail waits as long as it has to, fails, and gives how long that was.
func fail(t *testing.T, c *clock, f *password.Failures, account, address string) time.Duration {
	t.Helper()
	_, wait := f.Try(account, address)
	if wait > 0 {
		c.now = c.now.Add(wait - time.Millisecond)
		_, early := f.Try(account, address)
		require.Equal(t, time.Millisecond, early, "it was let through too early")
		c.now = c.now.Add(time.Millisecond)
		_, late := f.Try(account, address)
		require.Zero(t, late, "it waited and is refused all the same")
	}
	return wait
}

func TestDelayDoubles(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for n, want := range []time.Duration{0, 0, 0, 1, 2, 4, 8, 16, 30, 30, 30} {
		require.Equal(t, want*time.Second, fail(t, c, f, "ada", "192.0.2.1"), "try %d", n+1)
	}
	_, wait := f.Try("ada", "192.0.2.2")
	require.Zero(t, wait, "an account was slowed down by failures elsewhere")
	_, wait = f.Try("bob", "192.0.2.1")
	require.Zero(t, wait, "an account was slowed down by failures of another one")
}

func TestAddressIsSlowedDown(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for n := range 20 {
		require.Zero(t, fail(t, c, f, fmt.Sprint("user", n), "192.0.2.1"))
	}
	require.Equal(t, time.Second, fail(t, c, f, "one more", "192.0.2.1"))
	require.Equal(t, 2*time.Second, fail(t, c, f, "another", "192.0.2.1"))
	require.Zero(t, fail(t, c, f, "one more", "192.0.2.2"))
}

// Colleagues at one address mistype: a right password gets in within seconds, at once where it did before, and guesses
// that go on don't change that.
func TestBusyOffice(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	first, wait := f.Try("ada", "192.0.2.1")
	require.Zero(t, wait)
	first.Succeed()
	for n := range 26 {
		fail(t, c, f, fmt.Sprint("colleague ", n), "192.0.2.1")
	}
	for range 100 { // they take each turn that there is
		require.LessOrEqual(t, fail(t, c, f, fmt.Sprint("guessed at ", c.now), "192.0.2.1"), 4*time.Second)
		ada, wait := f.Try("ada", "192.0.2.1")
		require.Zero(t, wait, "an account that succeeded here waits for the failures of others")
		ada.Succeed()
	}
	_, wait = f.Try("new", "192.0.2.1")
	require.Equal(t, 4*time.Second, wait)
	c.now = c.now.Add(wait)
	_, wait = f.Try("new", "192.0.2.1")
	require.Zero(t, wait)

	// Whoever guesses at the account of a colleague is slowed down as anywhere.
	for range 3 {
		_, wait = f.Try("ada", "192.0.2.1")
		require.Zero(t, wait)
	}
	_, wait = f.Try("ada", "192.0.2.1")
	require.Equal(t, 4*time.Second, wait)
}

func TestSuccessIsRemembered(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for range 5 {
		for range 2 {
			require.Zero(t, fail(t, c, f, "ada", "192.0.2.1"))
		}
		a, wait := f.Try("ada", "192.0.2.1")
		require.Zero(t, wait)
		a.Succeed()
	}
	for range 100 {
		a, wait := f.Try("bob", "192.0.2.3")
		require.Zero(t, wait)
		a.Succeed()
	}
	for range 100 {
		a, wait := f.Try("bob", "192.0.2.4")
		require.Zero(t, wait)
		a.Withdraw()
	}
}

// Whoever knows their password does not renew the delay that others at their address brought about, nor keep it from
// being forgotten.
func TestSuccessRenewsNoDelay(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for n := range 26 {
		fail(t, c, f, fmt.Sprint("user", n), "192.0.2.1")
	}
	c.now = c.now.Add(31 * time.Second)
	for n := range 100 {
		a, wait := f.Try(fmt.Sprint("right", n), "192.0.2.1")
		require.Zero(t, wait)
		if n%2 == 0 {
			a.Succeed()
		} else {
			a.Withdraw()
		}
		c.now = c.now.Add(30 * time.Second)
	}
	c.now = c.now.Add(time.Hour - 100*30*time.Second - 31*time.Second)
	for n := range 20 {
		require.Zero(t, fail(t, c, f, fmt.Sprint("new", n), "192.0.2.1"), "an hour after the last failure they are forgotten")
	}
}

// Codes are counted for the account alone as well: many addresses are no way around the delay.
func TestCodesFromManyAddresses(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	next := 0
	fail := func() time.Duration {
		next++
		try := func() time.Duration {
			_, wait := f.TryCode("ada", fmt.Sprint("address ", next))
			return wait
		}
		wait := try()
		if wait > 0 {
			c.now = c.now.Add(wait)
			require.Zero(t, try(), "it waited and is refused all the same")
		}
		return wait
	}
	for n := range 10 {
		require.Zero(t, fail(), "try %d", n+1)
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 240, 240} {
		require.Equal(t, want*time.Second, fail())
	}
	guesses := 0
	for end := c.now.Add(24 * time.Hour); c.now.Before(end); guesses++ {
		fail()
	}
	require.LessOrEqual(t, guesses, 361)
	c.now = c.now.Add(23 * time.Hour)
	require.Zero(t, fail())
	require.Equal(t, 4*time.Minute, fail(), "pauses make guessing faster")
	_, wait := f.TryCode("bob", "192.0.2.1")
	require.Zero(t, wait)

	c.now = c.now.Add(time.Hour)
	a, wait := f.TryCode("ada", "192.0.2.1")
	require.Zero(t, wait)
	a.Withdraw()
	_, wait = f.Try("ada", "192.0.2.9")
	require.Zero(t, wait, "passwords are slowed down by codes")
	a, _ = f.TryCode("ada", "192.0.2.1")
	a.Succeed()
	for range 10 {
		require.Zero(t, fail(), "it is not forgotten after a success")
	}
	require.Equal(t, time.Second, fail())
	_, wait = f.TryCode("ada", "192.0.2.1")
	require.Zero(t, wait, "guesses elsewhere keep them out where they succeeded before")
	for range 2 {
		f.TryCode("ada", "192.0.2.1")
	}
	_, wait = f.TryCode("ada", "192.0.2.1")
	require.Equal(t, time.Second, wait)
}

func TestManyAtTheSameTime(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	passed := 0
	for range 50 { // none has come to its end
		if _, wait := f.Try("ada", "192.0.2.1"); wait == 0 {
			passed++
		}
	}
	require.Equal(t, 3, passed)
}

func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for range 8 {
		fail(t, c, f, "ada", "192.0.2.1")
	}
	c.now = c.now.Add(time.Hour)
	for range 3 {
		require.Zero(t, fail(t, c, f, "ada", "192.0.2.1"))
	}
	require.Equal(t, time.Second, fail(t, c, f, "ada", "192.0.2.1"))
}

func TestNetworksCount(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for _, address := range []string{"2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::"} {
		_, wait := f.Try("ada", address)
		require.Zero(t, wait)
	}
	_, wait := f.Try("ada", "2001:db8::3")
	require.Equal(t, time.Second, wait)
	_, wait = f.Try("ada", "2001:db8:0:1::1")
	require.Zero(t, wait)
	for range 3 {
		f.Try("bob", "192.0.2.7")
	}
	_, wait = f.Try("bob", "::ffff:192.0.2.7")
	require.Equal(t, time.Second, wait)
}

// So is what succeeded: the oldest is forgotten.
func TestSuccessesAreBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	succeed := func(account, address string) {
		a, wait := f.Try(account, address)
		require.Zero(t, wait)
		a.Succeed()
	}
	succeed("ada", "192.0.2.1")
	for range 23 {
		fail(t, c, f, fmt.Sprint("guessed at ", c.now), "192.0.2.1")
		succeed("ada", "192.0.2.1")
	}
	for n := range 1 << 16 {
		succeed("bob", fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
	}
	_, wait := f.Try("ada", "192.0.2.1")
	require.NotZero(t, wait, "the oldest success is still remembered")
}

// What is remembered is bounded: an attacker with many addresses takes no more memory than that.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	for range 4 {
		f.Try("ada", "192.0.2.1")
	}
	for n := range 1 << 16 {
		f.Try("ada", fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255))
	}
	_, wait := f.Try("ada", "192.0.2.1")
	require.Zero(t, wait, "the oldest are still remembered")
}

// Whoever has a large network guesses no faster for it: 256 networks of a /56, 65,536 of a /48, or all that 6to4 makes of
// an IPv4 address.
func TestLargeNetworksAreSlowedDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		address func(n int) string
		most    int // tries in an hour
	}{
		"/64":        {func(n int) string { return fmt.Sprintf("2001:db8:0:1::%x", n+1) }, 20 + 2 + 900},
		"/56":        {func(n int) string { return fmt.Sprintf("2001:db8:0:1%02x::%x", n%256, n+1) }, 100 + 1 + 1800},
		"/48":        {func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n%65536) }, 400 + 3600},
		"6to4":       {func(n int) string { return fmt.Sprintf("2002:c000:201:%x::1", n%65536) }, 20 + 2 + 900},
		"6to4, IPv4": {func(n int) string { return []string{"192.0.2.1", "2002:c000:201::1"}[n%2] }, 20 + 2 + 900},
	} {
		clock := newClock()
		f := password.NewFailures(clock.Now)
		tries := 0
		for end := clock.now.Add(time.Hour); clock.now.Before(end); {
			_, wait := f.Try(fmt.Sprint("account ", tries), c.address(tries))
			if wait == 0 {
				tries++
			}
			clock.now = clock.now.Add(wait)
		}
		require.LessOrEqual(t, tries, c.most, name)
		require.Greater(t, tries, c.most/2, name+": it is closed to all")
	}
}

// Failures elsewhere in a large network slow down nobody who signed in from their own before.
func TestLargeNetworksLockNobodyOut(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := password.NewFailures(c.Now)
	ada, _ := f.Try("ada", "2001:db8:1:ffff::1")
	ada.Succeed()
	for n := range 1000 {
		_, wait := f.Try(fmt.Sprint("account ", n), fmt.Sprintf("2001:db8:1:%x::1", n))
		c.now = c.now.Add(wait)
	}
	ada, wait := f.Try("ada", "2001:db8:1:ffff::1")
	require.Zero(t, wait)
	ada.Succeed()
	_, wait = f.Try("new", "2001:db8:1:fffe::1")
	require.LessOrEqual(t, wait, time.Second)
	_, wait = f.Try("new", "2001:db8:2::1")
	require.Zero(t, wait, "it is another network")
}
