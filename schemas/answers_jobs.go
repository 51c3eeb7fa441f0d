package schemas

import (
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/hiregate/hiregate/internal/compliance"
	"github.com/hiregate/hiregate/internal/model"
)

const (
	// rememberedJobs is for how many jobs the schemas of their answers are kept.
	rememberedJobs = 256
	// rememberedBytes is how much their questions may be together: one job may ask 4 MiB.
	rememberedBytes = 64 << 20
)

// Jobs keeps the schemas of jobs' answers until the jobs change. It is safe for concurrent use.
type Jobs struct {
	mu       sync.Mutex
	compiled *simplelru.LRU[jobVersion, *Answers]
	bytes    int // of the questions of all that are kept
}

// jobVersion is a job as it was at a time. A job that was deleted and made anew begins with version 1 again.
type jobVersion struct {
	tenant, boardCode string
	version, updated  int64
}

func versionOf(job *model.Job) jobVersion {
	return jobVersion{job.Tenant, job.BoardCode, job.Version, job.UpdatedAt.UnixMicro()}
}

// NewJobs makes an empty one.
func NewJobs() *Jobs {
	j := &Jobs{}
	var err error
	j.compiled, err = simplelru.NewLRU(rememberedJobs, func(_ jobVersion, a *Answers) { j.bytes -= a.size() })
	if err != nil {
		panic(err) // only for a size that is none
	}
	return j
}

// Known gives what checks the answers to the questions of a job, which may have been read without them; nil: nobody
// asked for it yet, or not lately.
func (j *Jobs) Known(job *model.Job) *Answers {
	j.mu.Lock()
	defer j.mu.Unlock()
	a, _ := j.compiled.Get(versionOf(job))
	return a
}

// Answers gives what checks the answers to all questions of a job, those of its compliance groups included. A job that
// is not of the store, and so has no version, is compiled each time.
func (j *Jobs) Answers(job *model.Job) (*Answers, error) {
	if a := j.Known(job); a != nil {
		return a, nil
	}
	a, err := NewAnswers(compliance.Ask(job))
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.BoardCode, err)
	}
	size := a.size()
	if job.Version == 0 || size > rememberedBytes {
		return a, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.compiled.Get(versionOf(job)); ok { // another request was faster
		return known, nil
	}
	for j.bytes+size > rememberedBytes {
		j.compiled.RemoveOldest()
	}
	j.compiled.Add(versionOf(job), a)
	j.bytes += size
	return a, nil
}

// size is about how many bytes the questions take in memory.
func (a *Answers) size() (n int) {
	const each = 64 // of an option beside its text; of a question it is little beside the rest
	for i := range a.questions {
		n += 1024 + len(a.questions[i].Label)
		for _, option := range a.questions[i].Options {
			n += each + len(option)
		}
	}
	return n
}
