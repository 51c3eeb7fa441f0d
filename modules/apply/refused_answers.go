package apply

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/batch"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/schemas"
)

// refusedAnswer is the key under which refused answers are counted.
type refusedAnswer struct {
	tenant, job, question string
	format                model.Format
	hour                  time.Time
}

func compareRefused(x, y refusedAnswer) int {
	return cmp.Or(cmp.Compare(x.tenant, y.tenant), cmp.Compare(x.job, y.job), cmp.Compare(x.question, y.question),
		cmp.Compare(x.format, y.format), x.hour.Compare(y.hour))
}

// refusedAnswers counts refused answers that are not written yet. It holds nothing of the answers.
type refusedAnswers = batch.Writer[refusedAnswer, int64]

func newRefusedAnswers(a *API) *refusedAnswers {
	return &refusedAnswers{Most: 4096, Within: patience, Store: a.db,
		Write: func(tx *store.Tx, all map[refusedAnswer]int64) error {
			for _, key := range slices.SortedFunc(maps.Keys(all), compareRefused) { // nodes don't deadlock
				err := tx.CountRefusedAnswers(key.tenant, key.job,
					store.RefusedAnswers{Question: key.question, Format: key.format, Count: all[key], LastHour: key.hour})
				if err != nil {
					return err
				}
			}
			return nil
		},
		Failed: func(err error) { a.Log.Warn("refused answers could not be counted", zap.Error(err)) }}
}

// countRefused counts the refused answers of an application. Ids of questions that the job does not ask are the
// partner's words, and are not stored.
func (a *API) countRefused(job *model.Job, invalid []schemas.InvalidAnswer) {
	hour := a.Gateway.Now().UTC().Truncate(time.Hour)
	for _, one := range invalid {
		key := refusedAnswer{job.Tenant, job.BoardCode, one.QuestionID, one.Format, hour}
		if one.Format == "" {
			key.question = ""
		}
		a.refused.Add(key, func(before int64, _ bool) int64 { return before + 1 })
	}
}
