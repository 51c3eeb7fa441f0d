package form

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hiregate/hiregate/internal/limits"
)

const (
	remembered   = 4096      // addresses, and jobs
	keptFor      = time.Hour // a file over an error: as long as an upload may take
	keptAtMost   = 64 << 20  // bytes of files that an address has kept,
	keptOverall  = 1 << 30   // and all addresses together
	visitsBurst  = 20        // forms of an address at once, and one more each
	visitsEvery  = 10 * time.Second
	jobsBurst    = 200 // applications for a job at once that are not suspicious, and one more each
	jobsEvery    = 3 * time.Second
	perFormBytes = 256 << 10 // of answers that are no files
)

// Guards bound what strangers send to forms. Their state outlives a configuration.
type Guards struct {
	visits, jobs *limits.Limits
	reading      places

	mu   sync.Mutex
	kept *lru.Cache[string, *keptBytes] // by address
	all  keptBytes
}

// keptBytes counts bytes since a time.
type keptBytes struct {
	since time.Time
	bytes int64
}

// NewGuards returns Guards without any state.
func NewGuards() *Guards {
	kept, _ := lru.New[string, *keptBytes](remembered) // it fails only for a size that is not positive
	return &Guards{visits: limits.New(visitsEvery, visitsBurst), jobs: limits.New(jobsEvery, jobsBurst), kept: kept}
}

// keep counts bytes of a file that is stored for an address. It reports false if those are too many.
func (g *Guards) keep(address string, bytes int64, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	mine, ok := g.kept.Get(address)
	if !ok {
		mine = new(keptBytes)
		g.kept.Add(address, mine)
	}
	if mine.left(keptAtMost, now) < bytes || g.all.left(keptOverall, now) < bytes {
		return false
	}
	mine.bytes += bytes
	g.all.bytes += bytes
	return true
}

// left returns how many more bytes may be stored now.
func (k *keptBytes) left(most int64, now time.Time) int64 {
	if now.Sub(k.since) >= keptFor {
		*k = keptBytes{since: now}
	}
	return most - k.bytes
}
