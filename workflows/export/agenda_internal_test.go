package export

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// errands are what an agenda has to do in a test: a number of steps each, a delay after each.
type errands struct {
	mu     sync.Mutex
	left   map[string]int
	due    map[string]time.Time
	done   []string
	at     map[string]int // most steps at once, by lane
	flying map[string]int
	take   func(key string) nextStep
}

func (e *errands) agenda(lane func(string) (string, int)) *agenda[string] {
	e.at, e.flying = map[string]int{}, map[string]int{}
	return &agenda[string]{
		now: time.Now, lingers: agendaLingers, compare: strings.Compare,
		read: func(context.Context) (map[string]time.Time, error) {
			e.mu.Lock()
			defer e.mu.Unlock()
			return maps.Clone(e.due), nil
		},
		lane: lane,
		step: func(_ context.Context, key string) nextStep {
			name, _ := lane(key)
			e.mu.Lock()
			e.flying[name]++
			e.at[name] = max(e.at[name], e.flying[name])
			e.mu.Unlock()
			next := e.take(key)
			e.mu.Lock()
			defer e.mu.Unlock()
			e.flying[name]--
			if e.left[key]--; e.left[key] > 0 {
				return next
			}
			delete(e.due, key)
			e.done = append(e.done, key)
			return nextStep{}
		},
	}
}

func one(string) (string, int) { return "lane", 2 }

func TestAgendaDoesStepsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := errands{left: map[string]int{"slow": 1, "twice": 2, "quick": 1},
			due: map[string]time.Time{"slow": {}, "twice": {}, "quick": {}}}
		e.take = func(key string) nextStep {
			if key == "slow" {
				time.Sleep(20 * time.Second)
			}
			return nextStep{until: time.Now().Add(5 * time.Second)}
		}
		began := time.Now()
		next, err := e.agenda(one).run(t.Context())
		require.NoError(t, err)
		require.Zero(t, next)
		require.Equal(t, []string{"quick", "twice", "slow"}, e.done,
			"neither what is slow nor what comes again keeps the others waiting")
		require.Equal(t, 20*time.Second, time.Since(began))
		require.Equal(t, 2, e.at["lane"])
	})
}

func TestAgendaLeavesLongWaitsToTemporal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soon := time.Now().Add(time.Minute)
		e := errands{left: map[string]int{"a": 1, "b": 1}, due: map[string]time.Time{"a": {}, "b": soon}}
		e.take = func(string) nextStep { return nextStep{} }
		next, err := e.agenda(one).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, soon, next)
		require.Equal(t, []string{"a"}, e.done)
	})
}

// What somebody hurries is due by the store, while the agenda waits for something else.
func TestAgendaHearsOfWhatIsHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := errands{left: map[string]int{"slow": 1, "later": 1},
			due: map[string]time.Time{"slow": {}, "later": time.Now().Add(time.Hour)}}
		e.take = func(key string) nextStep {
			if key == "slow" {
				time.Sleep(30 * time.Second)
			}
			return nextStep{}
		}
		time.AfterFunc(10*time.Second, func() {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.due["later"] = time.Now()
		})
		next, err := e.agenda(one).run(t.Context())
		require.NoError(t, err)
		require.Zero(t, next)
		require.Equal(t, []string{"later", "slow"}, e.done)
	})
}

// One that is turned away at a closed gate closes it for all of its lane: then one at a time asks whether it is open
// again.
func TestAgendaAsksAtAClosedGateOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opens := time.Now().Add(4 * time.Second)
		asked := 0
		e := errands{left: map[string]int{}, due: map[string]time.Time{}}
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			e.left[key], e.due[key] = 100, time.Time{}
		}
		e.take = func(key string) nextStep {
			e.mu.Lock()
			defer e.mu.Unlock()
			if asked++; time.Now().Before(opens) {
				return nextStep{until: time.Now().Add(1500 * time.Millisecond), closed: true}
			}
			e.left[key] = 1
			return nextStep{}
		}
		next, err := e.agenda(one).run(t.Context())
		require.NoError(t, err)
		require.Zero(t, next)
		require.LessOrEqual(t, asked, 2+2+6, "two at first, one at each look, and each once it is open")
		require.Len(t, e.done, 6)
	})
}

func TestAgendaLeavesNobodyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := errands{left: map[string]int{"a": 1}, due: map[string]time.Time{"a": {}}}
		e.take = func(string) nextStep { time.Sleep(time.Minute); return nextStep{} }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.agenda(one).run(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []string{"a"}, e.done, "a step that has begun is waited for")

		away := errors.New("the store is away")
		broken := e.agenda(one)
		broken.read = func(context.Context) (map[string]time.Time, error) { return nil, away }
		_, err = broken.run(t.Context())
		assert.ErrorIs(t, err, away)
	})
}

// One that waits for something outside of the agenda goes on as soon as it is told.
func TestAgendaIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := errands{left: map[string]int{"slow": 1, "later": 1}, due: map[string]time.Time{"slow": {}, "later": time.Now().Add(time.Hour)}}
		e.take = func(key string) nextStep {
			if key == "slow" {
				time.Sleep(3 * time.Second)
			}
			return nextStep{}
		}
		wake := make(chan int64, 1)
		a := e.agenda(one)
		a.wake, a.woken = wake, func(key string, id int64) bool { return key == "later" && id == 7 }
		time.AfterFunc(time.Second, func() { wake <- 7 })
		next, err := a.run(t.Context())
		require.NoError(t, err)
		require.Zero(t, next)
		require.Equal(t, []string{"later", "slow"}, e.done)
	})
}
