// Package inbound reads the bodies of requests whose sender is not known yet, within bounds of memory and time.
package inbound

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/fair"
	"github.com/hiregate/hiregate/internal/metrics"
)

// What bodies may take unless configured otherwise.
const (
	DefaultMemory = 64 << 20
	DefaultTime   = 2 * time.Minute
)

// ErrBusy says that so many bodies are being read that there is no memory for this one.
var ErrBusy = errors.New("the memory for bodies is taken")

// Bodies bounds the memory that the bodies of requests take at once, over all connections, and the time that each has.
// Methods may be called from several goroutines.
type Bodies struct {
	pool *fair.Pool
	time atomic.Int64
}

// New returns the default bounds.
func New() *Bodies {
	b := &Bodies{pool: fair.NewPool(DefaultMemory)}
	b.time.Store(int64(DefaultTime))
	return b
}

// Configure changes the bounds: of the memory in bytes at once, of the time for bodies that come later.
func (b *Bodies) Configure(memory int64, within time.Duration) {
	b.pool.Resize(memory)
	b.time.Store(int64(within))
}

// Limit is how long a body may take.
func (b *Bodies) Limit() time.Duration { return time.Duration(b.time.Load()) }

// Used returns how many bytes are held.
func (b *Bodies) Used() int64 { return b.pool.Used() }

// Read reads the body of a request, at most so many bytes of it, for a tenant, or for another name that shares the
// memory with tenants'. A body takes memory as it comes: an announced one takes none. Release it once nobody uses its
// bytes any more.
//
// Errors: ErrBusy, *http.MaxBytesError, os.ErrDeadlineExceeded, and whatever else breaks a body off.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, tenant string, most int64) (*Body, error) {
	done := Within(w, b.Limit())
	body := &Body{from: b, tenant: tenant}
	if err := body.read(http.MaxBytesReader(w, r.Body, most), most); err != nil {
		body.Release()
		return nil, err // what is left of it has no longer either
	}
	done()
	return body, nil
}

// Within bounds how long the body of a request may come in. A read that takes longer fails with os.ErrDeadlineExceeded.
// Call done when the body is there.
func Within(w http.ResponseWriter, d time.Duration) (done func()) {
	c := http.NewResponseController(w)
	if c.SetReadDeadline(time.Now().Add(d)) != nil { // where there is no connection, nothing can be slow
		return func() {}
	}
	return func() { _ = c.SetReadDeadline(time.Time{}) }
}

// Body is the body of a request.
type Body struct {
	from   *Bodies
	tenant string
	bytes  []byte
}

// Bytes are those of the body, good until it is released.
func (b *Body) Bytes() []byte { return b.bytes }

// Release gives the memory back.
func (b *Body) Release() {
	held := int64(cap(b.bytes))
	if held == 0 {
		return
	}
	recycle(b.bytes)
	b.bytes = nil
	b.from.pool.Release(b.tenant, held)
	metrics.BodyBytes(-held)
}

func (b *Body) read(in io.Reader, most int64) error {
	var next [1]byte // comes before the room for it: who sends nothing holds nothing
	for {
		if _, err := io.ReadFull(in, next[:]); err != nil {
			return unlessEnded(err)
		}
		if !b.grow(most) {
			return ErrBusy
		}
		b.bytes = append(b.bytes, next[0])
		for full := min(cap(b.bytes), int(most)); len(b.bytes) < full; {
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
func (b *Body) grow(most int64) bool {
	held := int64(cap(b.bytes))
	size := max(smallest, 2*held)
	if size > largest { // it is not used again, and need be no larger than the body may be
		size = min(size, most)
	}
	if !b.from.pool.TryAcquire(b.tenant, size-held) {
		return false
	}
	metrics.BodyBytes(size - held)
	larger := append(buffer(size), b.bytes...)
	recycle(b.bytes)
	b.bytes = larger
	return true
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
