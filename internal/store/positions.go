package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"

	"github.com/hiregate/hiregate/internal/model"
)

// position is a job without what it asks, as it is kept beside the whole of it.
type position struct{ job *model.Job }

// Value implements driver.Valuer.
func (p position) Value() (driver.Value, error) {
	j := *p.job
	j.Questions, j.ComplianceGroups = nil, nil
	data, err := json.Marshal(&j)
	if err != nil {
		return nil, fmt.Errorf("writing a job without its questions: %w", err)
	}
	return wrapBody(data), nil
}

var openings = collection[model.Job]{table: "positions", of: jobs.of}

// JobWithoutQuestions is Job without what the job asks: that may be 4 MiB, and nothing of it is exported.
func (tx *Tx) JobWithoutQuestions(tenant, boardCode string) (*model.Job, bool, error) {
	return openings.find(tx, tenant, boardCode)
}

// JobWithoutQuestions is Job without what the job asks; ErrNotFound when there is none.
func (db *DB) JobWithoutQuestions(ctx context.Context, tenant, boardCode string) (*model.Job, error) {
	return openings.get(ctx, db, tenant, boardCode)
}
