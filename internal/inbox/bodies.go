package inbox

import (
	"crypto/sha256"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/hiregate/hiregate/internal/model"
)

// rememberedBodies bounds how many accepted bodies are remembered; about 200 bytes each.
const rememberedBodies = 1 << 16

// RecentBodies remembers the bodies that were accepted last. The X-Service-UUID is not covered by the signature, so
// that somebody who overheard an export could send it again under another: such repeats are counted. An index in the
// database would know more of them, and cost each export a tenth of its way to the disk.
type RecentBodies struct {
	seen *lru.Cache[bodyOf, struct{}]
}

type bodyOf struct {
	tenant string
	sum    [sha256.Size]byte
}

// NewRecentBodies remembers nothing yet.
func NewRecentBodies() *RecentBodies {
	seen, err := lru.New[bodyOf, struct{}](rememberedBodies)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	return &RecentBodies{seen}
}

// Remember remembers the body of an export that was accepted as a new one, and reports whether it was there before.
func (b *RecentBodies) Remember(e *model.Export) bool {
	again, _ := b.seen.ContainsOrAdd(bodyOf{e.Tenant, e.SHA256}, struct{}{})
	return again
}
