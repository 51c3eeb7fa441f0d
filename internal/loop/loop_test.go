package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// begun runs loops until the test ends.
func begun(t *testing.T, loops ...Loop) (*Set, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	ctx, stop := context.WithCancel(t.Context())
	set, ended := new(Set), make(chan struct{})
	go func() { set.Run(ctx, zap.New(core), loops...); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	synctest.Wait()
	return set, logs
}

func pass(d time.Duration) {
	time.Sleep(d) // the bubble's time
	synctest.Wait()
}

func TestRoundsComeAtTheirPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds, paced, needy atomic.Int64
		var back atomic.Bool
		counts := func() []int64 { return []int64{rounds.Load(), paced.Load(), needy.Load()} }
		begun(t,
			Loop{Name: "plain", Every: time.Minute, First: AtOnce, Round: func(context.Context) error { rounds.Add(1); return nil }},
			Loop{Name: "paced", Every: time.Minute, Round: func(context.Context) error { paced.Add(1); time.Sleep(time.Second); return nil },
				Pace: func(took time.Duration, _ error) time.Duration { return 9 * took }},
			Loop{Name: "needy", Every: time.Minute, Away: func() bool { return !back.Load() },
				Round: func(context.Context) error { needy.Add(1); return nil }})
		pass(time.Second)
		require.Equal(t, []int64{1, 0, 0}, counts())
		pass(80 * time.Second)
		require.Equal(t, []int64{2, 3, 0}, counts(), "at 60, 70 and 80 s")
		back.Store(true)
		pass(time.Second)
		require.EqualValues(t, 1, needy.Load(), "soon after it is back")
	})
}

func TestAFailureIsLoggedOnceUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Bool
		round := func(context.Context) error {
			if works.Load() {
				return nil
			}
			return errors.New("no")
		}
		_, logs := begun(t, Loop{Name: "a", Every: time.Second, Failed: "it failed", Round: round},
			Loop{Name: "b", Every: time.Second, Failed: "gravely", Round: round,
				Level: func(error) zapcore.Level { return zap.ErrorLevel }})
		for range 2 {
			works.Store(false)
			pass(5 * time.Second)
			works.Store(true)
			pass(5 * time.Second)
		}
		require.Equal(t, 2, logs.FilterMessage("it failed").FilterLevelExact(zap.WarnLevel).Len())
		require.Equal(t, 2, logs.FilterMessage("gravely").FilterLevelExact(zap.ErrorLevel).Len())
	})
}

func TestAPanicDoesNotEndALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int64
		_, logs := begun(t, Loop{Name: "a", Every: time.Second, Failed: "it failed", Round: func(context.Context) error {
			if rounds.Add(1) == 1 {
				panic("no")
			}
			return nil
		}})
		pass(3 * time.Second)
		require.EqualValues(t, 3, rounds.Load())
		require.Equal(t, 1, logs.FilterField(zap.String("loop", "a")).FilterMessageSnippet("panicked").Len())
	})
}

func TestALoopThatHangsIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, goOn := time.Now(), make(chan struct{})
		set, _ := begun(t,
			Loop{Name: "hangs", Every: time.Hour, First: time.Minute, Round: func(context.Context) error { <-goOn; return nil }},
			Loop{Name: "works", Every: time.Minute, Round: func(ctx context.Context) error {
				for range 24 * 60 {
					time.Sleep(time.Minute)
					Alive(ctx)
				}
				return nil
			}},
			Loop{Name: "away", Every: time.Minute, Away: func() bool { return true }},
			Loop{Name: "comes round", Every: time.Hour, Round: func(context.Context) error { return nil }})
		pass(3 * time.Hour)
		require.Empty(t, set.Late(time.Now()))
		pass(2 * time.Minute)
		require.Equal(t, []Late{{"hangs", time.Hour, began.Add(time.Minute)}}, set.Late(time.Now()))
		close(goOn)
		pass(time.Second)
		require.Empty(t, set.Late(time.Now()))
	})
}

func TestAStopIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.InfoLevel)
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		ended := 0
		new(Set).Run(ctx, zap.New(core), Loop{Name: "a", Every: time.Second, Failed: "it failed", End: func() { ended++ },
			Round: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		require.Zero(t, logs.Len())
		require.Equal(t, 1, ended)
	})
}
