package bodies

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/hiregate/hiregate/internal/metrics"
)

// Body is the body of a request.
type Body struct {
	from            *Bodies
	sender          Sender
	most, announced int64 // bytes; announced is -1 if that is not known
	bytes           []byte
	charged         int64 // bytes of the pool

	// These are used while the body comes in.
	share      *share // nil: it has no memory yet
	began      time.Time
	request    context.Context
	connection *http.ResponseController
	ended      bool // for another body
}

// Bytes returns the body. It is valid until Release.
func (b *Body) Bytes() []byte { return b.bytes }

// Release gives the memory back.
func (b *Body) Release() {
	recycle(b.bytes)
	b.bytes = nil
	b.giveBack(b.charged)
}

func (b *Body) giveBack(units int64) {
	if units == 0 {
		return
	}
	b.charged -= units
	b.from.pool.Release(b.sender.Tenant, units)
	metrics.BodyBytes(-units)
}

// charge takes memory of the pool, so that the body has so many bytes of it. Where there is none, a body that has waited
// long ends.
func (b *Body) charge(total int64) bool {
	need := total - b.charged
	if need <= 0 {
		return true
	}
	if !b.from.pool.TryAcquire(b.sender.Tenant, need) && !b.from.waitForRoom(b, need) {
		return false
	}
	b.from.note(b, need)
	metrics.BodyBytes(need)
	return true
}

func (b *Body) read(in io.Reader) error {
	if !b.charge(requestWeight) {
		return ErrBusy
	}
	var next [1]byte // comes before the room for it: who sends nothing has no buffer
	for {
		if _, err := io.ReadFull(in, next[:]); err != nil {
			return unlessEnded(err)
		}
		if !b.grow() {
			return ErrBusy
		}
		b.bytes = append(b.bytes, next[0])
		for full := min(cap(b.bytes), int(b.most)); len(b.bytes) < full; {
			n, err := in.Read(b.bytes[len(b.bytes):full])
			b.bytes = b.bytes[:len(b.bytes)+n]
			if err != nil {
				return unlessEnded(err)
			}
		}
	}
}

func unlessEnded(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// grow makes room for more, once the pool has it.
func (b *Body) grow() bool {
	size := b.nextSize()
	if !b.charge(size) {
		return false
	}
	larger := append(buffer(size), b.bytes...)
	recycle(b.bytes)
	b.bytes = larger
	return true
}

// nextSize is the size of the next buffer: twice the former one's while buffers are small and used again, then a quarter
// more, and no more than the body can have.
func (b *Body) nextSize() int64 {
	held := int64(cap(b.bytes))
	if held < largest {
		return max(smallest, 2*held)
	}
	size := min(held+held/4, b.most)
	if b.announced > held {
		size = min(size, b.announced)
	}
	return size
}

// Buffers of these sizes, and of the powers of two between them, are used again.
const (
	smallest = 4 << 10
	largest  = 256 << 10
)

var recycled [7]sync.Pool // of *[]byte, by size

// recycler is the place of buffers of a size; nil: they are not used again.
func recycler(size int64) *sync.Pool {
	for n := range recycled {
		if size == smallest<<n {
			return &recycled[n]
		}
	}
	return nil
}

func buffer(size int64) []byte {
	if p := recycler(size); p != nil {
		if used, ok := p.Get().(*[]byte); ok {
			return (*used)[:0]
		}
	}
	return make([]byte, 0, size)
}

func recycle(used []byte) {
	if p := recycler(int64(cap(used))); p != nil {
		p.Put(&used)
	}
}
