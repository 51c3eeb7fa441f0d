package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/hiregate/hiregate/internal/loop"
	"github.com/hiregate/hiregate/internal/metrics"
	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/store"
)

// Damage returns what is known of damage to the database.
func (r *Runtime) Damage() store.Damage {
	if db := r.Store(); db != nil {
		return db.Damage()
	}
	return store.Damage{}
}

// watchDamage has a database that says that it is damaged examined, and logs what is found.
func (r *Runtime) watchDamage() loop.Loop {
	var known store.Damage
	return loop.Loop{Name: "damage", Every: tendEvery, Failed: "the database could not be examined for damage; it is tried again",
		Level: gravely, Round: func(ctx context.Context) error {
			err := r.Store().Examine(ctx, r.now())
			found := r.Damage()
			switch {
			case found == known:
			case found.Since.IsZero():
				r.log.Info("the database has not been found damaged for an hour")
			case found.Confirmed:
				r.log.Error("the database is damaged: put a backup in its place", zap.String("error", found.Reason))
			default:
				r.log.Error("the database said that it is damaged", zap.String("error", found.Reason))
			}
			known = found
			metrics.DatabaseDamaged(!known.Since.IsZero())
			return err
		}}
}

// damaged finds that the database is damaged.
func damaged(r *Runtime, _ context.Context, _ time.Time) ([]model.Need, error) {
	d := r.Damage()
	if d.Since.IsZero() {
		return nil, nil
	}
	sentence := "the database is damaged: " + d.Reason + "; stop the gateway and put a backup in its place"
	if !d.Confirmed {
		sentence = "the database said that it is damaged: " + d.Reason + "; look at its disk and its log. This ends after an " +
			"hour without such an error"
	}
	return []model.Need{{Kind: model.NeedDamaged, Since: d.Since, Sentence: sentence, Action: "hiregate healthcheck"}}, nil
}
