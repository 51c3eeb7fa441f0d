package apply

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/hiring"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

const (
	// refusedEvery is how often the counts of refused answers are written at most: partners cause them.
	refusedEvery = 2 * time.Second
	// differentRefused is how many different ones wait at most. What comes beyond them is left out.
	differentRefused = 4096
)

// refusedAnswer is what refused answers are counted by.
type refusedAnswer struct {
	tenant, job, question string
	format                hiring.Format
	hour                  time.Time
}

func compareRefused(x, y refusedAnswer) int {
	return cmp.Or(cmp.Compare(x.tenant, y.tenant), cmp.Compare(x.job, y.job), cmp.Compare(x.question, y.question),
		cmp.Compare(x.format, y.format), x.hour.Compare(y.hour))
}

// refusedAnswers are the answers that were refused and are not written yet. Nothing of the answers is in them.
type refusedAnswers struct {
	mu     sync.Mutex
	counts map[refusedAnswer]int64
}

// countRefused counts the refused answers of an application. The ids of questions that the job does not ask are the
// partner's words, and are not kept.
func (a *API) countRefused(job *hiring.Job, invalid []schemas.InvalidAnswer) {
	hour := a.Gateway.Now().UTC().Truncate(time.Hour)
	a.refused.mu.Lock()
	defer a.refused.mu.Unlock()
	for _, one := range invalid {
		key := refusedAnswer{job.Tenant, job.BoardCode, one.QuestionID, one.Format, hour}
		if one.Format == "" {
			key.question = ""
		}
		if _, known := a.refused.counts[key]; !known && len(a.refused.counts) >= differentRefused {
			continue
		}
		if a.refused.counts == nil {
			a.refused.counts = map[refusedAnswer]int64{}
			time.AfterFunc(refusedEvery, a.writeRefused)
		}
		a.refused.counts[key]++
	}
}

// writeRefused writes what was refused since the last time.
func (a *API) writeRefused() {
	a.refused.mu.Lock()
	all := a.refused.counts
	a.refused.counts = nil
	a.refused.mu.Unlock()
	db := a.db()
	release, ok := db.Acquire()
	if !ok {
		return // the gateway has ended, and a few counts with it
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := db.Write(ctx, func(tx *store.Tx) error {
		for _, key := range slices.SortedFunc(maps.Keys(all), compareRefused) { // nodes don't deadlock
			err := tx.CountRefusedAnswers(key.tenant, key.job,
				store.RefusedAnswers{Question: key.question, Format: key.format, Count: all[key], LastHour: key.hour})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.Log.Warn("refused answers could not be counted", zap.Error(err))
	}
}
