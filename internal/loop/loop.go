// Package loop runs what the gateway does again and again, and knows whether it still does.
package loop

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/wait"
)

const (
	// AtOnce is a Loop's First that is over as soon as it begins.
	AtOnce = time.Nanosecond
	// awayPause is the pause between two looks whether what a loop needs is back.
	awayPause = 250 * time.Millisecond
	// leastSilence is the shortest silence after which a loop is late: a busy machine lets one of a second miss three rounds.
	leastSilence = 5 * time.Minute
)

// Loop is work that comes up again and again.
type Loop struct {
	Name  string        // what it does, in lower-case words: in the log, the metrics and status
	Every time.Duration // the pause between two rounds
	First time.Duration // the pause before the first round; 0: Every
	// Pace is the pause after a round that took so long, where it differs from Every; nil: it never does.
	Pace func(took time.Duration, err error) time.Duration
	// Away reports whether what the rounds need is away; they are left out meanwhile. Nil: they need nothing.
	Away  func() bool
	Round func(context.Context) error
	End   func() // after the last round; nil: nothing is left to do then
	// Failed is the sentence of the log on a round that fails, once until one succeeds again.
	Failed string
	// Level is the level of that line; nil: a warning.
	Level func(error) zapcore.Level
}

// Set is the loops of a process. The zero value has none.
type Set struct {
	mu  sync.Mutex
	all []*turning
}

// turning is a loop that runs.
type turning struct {
	Loop
	log      *zap.Logger
	shown    atomic.Int64 // when it showed last that it is alive, in Unix nanoseconds
	expected atomic.Int64 // until when it has to do so again
	failed   bool
}

// Run runs loops until ctx ends, each in a goroutine of its own. A panic in a round is logged and counted, and the loop
// goes on.
func (s *Set) Run(ctx context.Context, log *zap.Logger, loops ...Loop) {
	var running sync.WaitGroup
	for _, l := range loops {
		t := &turning{Loop: l, log: log.With(zap.String("loop", l.Name))}
		metrics.LoopBegan(l.Name)
		t.alive(l.first())
		s.mu.Lock()
		s.all = append(s.all, t)
		s.mu.Unlock()
		running.Go(func() { t.run(ctx) })
	}
	running.Wait()
}

// Late is a loop that has not shown for three rounds, and for five minutes at least, that it is alive.
type Late struct {
	Name  string
	Every time.Duration
	Since time.Time // when it showed so last
}

// Late returns the loops that are late, in the order in which they began.
func (s *Set) Late(now time.Time) (late []Late) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		if now.UnixNano() > t.expected.Load() {
			late = append(late, Late{t.Name, t.Every, time.Unix(0, t.shown.Load())})
		}
	}
	return late
}

func (l *Loop) first() time.Duration {
	if l.First > 0 {
		return l.First
	}
	return l.Every
}

func (t *turning) run(ctx context.Context) {
	if t.End != nil {
		defer t.End()
	}
	ctx = context.WithValue(ctx, key{}, t)
	for pause := t.first(); wait.For(ctx, pause); {
		if t.Away != nil && t.Away() {
			pause = min(t.Every, awayPause)
			t.alive(pause)
			continue
		}
		t.alive(0)
		began := time.Now()
		err := t.round(ctx)
		t.note(ctx, err)
		pause = t.Every
		if t.Pace != nil {
			pause = t.Pace(time.Since(began), err)
		}
		t.alive(pause)
	}
}

// round is Round, whose panics are errors.
func (t *turning) round(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			metrics.LoopPanicked(t.Name)
			t.log.Error("a loop panicked; it goes on: report this", zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return t.Round(ctx)
}

func (t *turning) note(ctx context.Context, err error) {
	switch {
	case err == nil:
		t.failed = false
	case !t.failed && ctx.Err() == nil:
		level := zap.WarnLevel
		if t.Level != nil {
			level = t.Level(err)
		}
		t.log.Log(level, t.Failed, zap.Error(err))
		t.failed = true
	}
}

// alive notes that the loop is, and when it has to show it again, if it does nothing for a time first.
func (t *turning) alive(pause time.Duration) {
	now := time.Now()
	expected := now.Add(pause + max(3*t.Every, leastSilence))
	t.shown.Store(now.UnixNano())
	t.expected.Store(expected.UnixNano())
	metrics.LoopExpected(t.Name, expected)
}

type key struct{}

// Alive notes, in the middle of a round that may take long, that its loop is alive. ctx is the round's.
func Alive(ctx context.Context) {
	if t, ok := ctx.Value(key{}).(*turning); ok {
		t.alive(0)
	}
}
