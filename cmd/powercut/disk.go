package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	blockSize = 4096 // bytes that the disk writes as a whole, or not at all
	diskSize  = 1 << 30
	flushTime = time.Millisecond
)

// disk is a disk with a volatile cache: a block that is written is durable once a flush that began after it has ended. It
// is one file of a FUSE filesystem.
type disk struct {
	fs.Inode

	mu      sync.Mutex
	durable [][]byte
	cached  map[int64][]byte
	// deceitful: flushes are reported as done, and the cache survives no cut.
	deceitful bool
	cut       bool
	left      int           // the power fails with this many more writes; 0: it does not
	failed    chan struct{} // closed when the power fails
	off       chan struct{} // closed when nobody uses the disk any more, after that
}

// file is the name of the disk in its filesystem.
const file = "disk"

var (
	_ = (fs.NodeGetattrer)((*disk)(nil))
	_ = (fs.NodeSetattrer)((*disk)(nil))
	_ = (fs.NodeOpener)((*disk)(nil))
	_ = (fs.NodeReader)((*disk)(nil))
	_ = (fs.NodeWriter)((*disk)(nil))
	_ = (fs.NodeFsyncer)((*disk)(nil))
)

// newDisk makes a disk of durable blocks; nil: an empty one.
func newDisk(durable [][]byte) *disk {
	if durable == nil {
		durable = make([][]byte, diskSize/blockSize)
	}
	return &disk{durable: durable, cached: map[int64][]byte{}, failed: make(chan struct{}), off: make(chan struct{})}
}

// serve mounts the filesystem that has the disk at a folder.
func (d *disk) serve(folder string) (*fuse.Server, error) {
	// The kernel need not ask again for what it knows: nobody else writes.
	long := time.Hour
	root := new(fs.Inode)
	options := &fs.Options{EntryTimeout: &long, AttrTimeout: &long, MountOptions: fuse.MountOptions{DirectMountStrict: true,
		FsName: "powercut", Name: "powercut", MaxWrite: 1 << 20, DisableXAttrs: true}}
	options.OnAdd = func(ctx context.Context) {
		root.AddChild(file, root.NewPersistentInode(ctx, d, fs.StableAttr{Mode: syscall.S_IFREG}), false)
	}
	server, err := fs.Mount(folder, root, options)
	if err != nil {
		return nil, fmt.Errorf("mounting a FUSE filesystem: %w", err)
	}
	return server, nil
}

func (d *disk) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size, out.Blksize = 0o600, diskSize, blockSize
	return 0
}

func (d *disk) Setattr(ctx context.Context, f fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(ctx, f, out)
}

func (d *disk) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_KEEP_CACHE, 0
}

func (d *disk) Read(_ context.Context, _ fs.FileHandle, into []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	into = into[:max(0, min(int64(len(into)), diskSize-at))]
	for done := 0; done < len(into); {
		n, from := (at+int64(done))/blockSize, (at+int64(done))%blockSize
		part := into[done:min(len(into), done+int(blockSize-from))]
		if block := d.block(n); block != nil {
			copy(part, block[from:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return fuse.ReadResultData(into), 0
}

// block returns what is read of a block; nil: zeros.
func (d *disk) block(n int64) []byte {
	if block, ok := d.cached[n]; ok {
		return block
	}
	return d.durable[n]
}

func (d *disk) Write(_ context.Context, _ fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	if at+int64(len(data)) > diskSize {
		return 0, syscall.ENOSPC
	}
	if !d.lock() {
		return 0, syscall.EIO
	}
	defer d.mu.Unlock()
	for done := 0; done < len(data); {
		n, from := (at+int64(done))/blockSize, (at+int64(done))%blockSize
		block := make([]byte, blockSize)
		copy(block, d.block(n))
		done += copy(block[from:], data[done:])
		d.cached[n] = block
	}
	if d.left > 0 {
		if d.left--; d.left == 0 {
			d.fail()
		}
	}
	return uint32(len(data)), 0
}

func (d *disk) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	time.Sleep(flushTime)
	if !d.lock() {
		return syscall.EIO
	}
	defer d.mu.Unlock()
	if d.deceitful {
		return 0
	}
	for n, block := range d.cached {
		d.durable[n] = block
	}
	clear(d.cached)
	return 0
}

// lock reports whether the disk has power, and is locked then. Without power it waits until nobody uses the disk any more,
// so that nobody acts on what fails.
func (d *disk) lock() bool {
	d.mu.Lock()
	if !d.cut {
		return true
	}
	d.mu.Unlock()
	<-d.off
	return false
}

func (d *disk) fail() {
	if !d.cut {
		d.cut = true
		close(d.failed)
	}
}

// deceive has the disk ignore flushes from now on.
func (d *disk) deceive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deceitful = true
}

// cutPower ends all writing, within the next writes: a random half of the blocks that are not flushed then is durable, the
// other is not. Nobody uses the disk any more once stop has returned. cutPower returns the disk as it is found when the power
// is back, and how many blocks were not flushed, and lost.
func (d *disk) cutPower(random *rand.Rand, stop func()) (after *disk, cached, lost int) {
	d.mu.Lock()
	d.left = 1 + random.IntN(20)
	d.mu.Unlock()
	select {
	case <-d.failed:
	case <-time.After(2 * time.Second): // nobody writes
	}
	d.mu.Lock()
	d.fail()
	after = newDisk(append([][]byte(nil), d.durable...))
	for n := range d.durable { // in their order, for the seed
		if block, ok := d.cached[int64(n)]; ok {
			if d.deceitful || random.IntN(2) == 0 {
				lost++
			} else {
				after.durable[n] = block
			}
		}
	}
	cached = len(d.cached)
	d.mu.Unlock()
	stop()
	close(d.off)
	return after, cached, lost
}
