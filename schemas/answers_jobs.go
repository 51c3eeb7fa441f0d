package schemas

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/hiring"
)

// rememberedJobs is for how many jobs the schemas of their answers are kept.
const rememberedJobs = 256

// Jobs keeps the schemas of jobs' answers until the jobs change. It is safe for concurrent use.
type Jobs struct {
	compiled *lru.Cache[jobVersion, *Answers]
}

// jobVersion is a job as it was at a time. A job that was deleted and made anew begins with version 1 again.
type jobVersion struct {
	tenant, boardCode string
	version, updated  int64
}

// NewJobs makes an empty one.
func NewJobs() *Jobs {
	compiled, err := lru.New[jobVersion, *Answers](rememberedJobs)
	if err != nil {
		panic(err) // only for a size that is none
	}
	return &Jobs{compiled}
}

// Answers gives what checks the answers to all questions of a job, those of its compliance groups included. A job that
// is not of the store, and so has no version, is compiled each time.
func (j *Jobs) Answers(job *hiring.Job) (*Answers, error) {
	key := jobVersion{job.Tenant, job.BoardCode, job.Version, job.UpdatedAt.UnixMicro()}
	if a, ok := j.compiled.Get(key); ok {
		return a, nil
	}
	a, err := NewAnswers(compliance.Ask(job))
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.BoardCode, err)
	}
	if job.Version > 0 {
		j.compiled.Add(key, a)
	}
	return a, nil
}
