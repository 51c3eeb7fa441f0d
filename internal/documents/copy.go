package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// copiesAtOnce is how many files are copied at once.
const copiesAtOnce = 8

// Copied counts what a Copier did.
type Copied struct {
	Files, Bytes atomic.Int64 // copied
	Present      atomic.Int64 // files that were there already
	Deleted      atomic.Int64 // files
	Percent      atomic.Int64 // of the names of From that were compared
}

// Copier copies all files from one document store to another, as they are: what is sealed stays sealed.
type Copier struct {
	From, To *Files
	// Delete has files of To removed that From does not have.
	Delete bool
	Copied
	stale []string // names in To that From does not have
}

// Run copies all files that To does not have in their size. A run that broke off is continued by another one. Files that
// come and go meanwhile may be left out.
func (c *Copier) Run(ctx context.Context) error {
	if err := c.To.Prepare(); err != nil {
		return err
	}
	const begins = "abcdefghijklmnopqrstuvwxyz234567" // of names, so that the lists are short
	for n, begin := range []byte(begins) {
		if err := c.copyBegin(ctx, string(begin)); err != nil {
			return err
		}
		c.Percent.Store(int64(100 * (n + 1) / len(begins)))
	}
	if !c.Delete || len(c.stale) == 0 {
		return nil
	}
	if c.Files.Load()+c.Present.Load() == 0 {
		return errors.New("the store to copy from has no documents: nothing was deleted; look whether its address is right")
	}
	return atOnce(ctx, c.stale, func(_ context.Context, name string) error {
		c.Deleted.Add(1)
		return c.To.Discard(name)
	})
}

// atOnce calls do for each name, some at once, until one fails.
func atOnce(ctx context.Context, names []string, do func(ctx context.Context, name string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiesAtOnce)
	for _, name := range names {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, name)
		})
	}
	return group.Wait()
}

// copyBegin copies the files whose names have a begin.
func (c *Copier) copyBegin(ctx context.Context, begin string) error {
	from, err := c.From.medium.list(ctx, begin)
	if err != nil {
		return fmt.Errorf("listing the documents to copy: %w", err)
	}
	to, err := c.To.medium.list(ctx, begin)
	if err != nil {
		return fmt.Errorf("listing the documents that were copied: %w", err)
	}
	var missing []string
	for name, size := range from {
		if present, ok := to[name]; ok && present == size {
			c.Present.Add(1)
		} else {
			missing = append(missing, name)
		}
	}
	for name := range to {
		if _, ok := from[name]; !ok {
			c.stale = append(c.stale, name)
		}
	}
	return atOnce(ctx, missing, c.copy)
}

func (c *Copier) copy(ctx context.Context, name string) error {
	source, size, err := c.From.medium.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted since it was listed
	}
	if err != nil {
		return fmt.Errorf("opening a document: %w", err)
	}
	defer source.Close()
	copied, err := c.To.medium.create(name)
	if errors.Is(err, fs.ErrExist) { // a copy that was killed left it
		if err := c.To.Discard(name); err != nil {
			return err
		}
		copied, err = c.To.medium.create(name)
	}
	if err != nil {
		return err
	}
	defer copied.discard()
	if _, err := io.Copy(copied, io.NewSectionReader(source, 0, size)); err != nil {
		return fmt.Errorf("copying a document: %w", full(err))
	}
	if err := copied.keep(ctx); err != nil {
		return err
	}
	c.Files.Add(1)
	c.Bytes.Add(size)
	return nil
}
