// Package bodies reads the bodies of requests whose sender is not known yet, within bounds of memory and time.
package bodies

import (
	"errors"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hiregate/hiregate/internal/fairpool"
)

// What bodies may take unless configured otherwise.
const (
	DefaultMemory = 64 << 20
	DefaultTime   = 2 * time.Minute
)

// requestWeight is how many bytes a request takes at least while its body comes in: a goroutine, a connection or a
// stream of HTTP/2, and the buffers of those.
const requestWeight = 32 << 10

// ErrBusy says that so many bodies are being read that there is no memory for this one, or none any more: of those that
// have waited long, one ends for a new one.
var ErrBusy = errors.New("the memory for bodies is taken")

// Bodies bounds the memory that the bodies of requests take at once, over all connections, and the time that each has.
// Tenants share the memory, and at a tenant the addresses that send to it. Methods may be called from several
// goroutines.
type Bodies struct {
	pool *fairpool.Pool
	time atomic.Int64

	mu      sync.Mutex
	shares  map[string]map[string]*share // of bodies that are being read, by tenant and address
	waiting int                          // bodies for which others end
}

// Sender identifies the sender of a body before its signature is checked: the tenant it is for, or another name that
// shares the memory with tenants, and its address.
type Sender struct{ Tenant, Address string }

// New returns the default bounds.
func New() *Bodies {
	b := &Bodies{pool: fairpool.NewPool(DefaultMemory), shares: map[string]map[string]*share{}}
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

// Read reads the body of a request, at most so many bytes of it. A body takes memory as it comes; its request takes 32
// KiB until all of it is there. Release it once nobody uses its bytes any more.
//
// Errors: ErrBusy, *http.MaxBytesError, os.ErrDeadlineExceeded, and whatever else breaks a body off.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, from Sender, most int64) (*Body, error) {
	body := &Body{from: b, sender: Sender{from.Tenant, network(from.Address)}, most: most, announced: r.ContentLength, began: time.Now(),
		request: r.Context(), connection: http.NewResponseController(w)}
	done := Within(w, b.Limit())
	err := body.read(http.MaxBytesReader(w, r.Body, most))
	if ended := b.leave(body); ended && errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrBusy
	}
	if err != nil {
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
