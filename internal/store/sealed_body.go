package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/klauspost/compress/s2"

	"github.com/hiregate/hiregate/internal/model"
)

// In a sealed export the headers come before the body: each is its length and one, or 0 where it is
// absent, and its bytes. The body follows as it would be stored.

// SealBody seals the body and the headers of an export, which has its ID, before it is inserted. Without a data key
// nothing changes.
func (db *DB) SealBody(e *model.Export) (err error) {
	e.Sealed, err = db.dataKeys.sealBody(e)
	return err
}

func (k *dataKeys) sealBody(e *model.Export) ([]byte, error) {
	if k.newest.Load() == nil {
		return nil, nil
	}
	all := make([]byte, 0, 2*binary.MaxVarintLen64+len(e.Link)+len(e.ExportContext)+1+s2.MaxEncodedLen(len(e.Body)))
	for _, header := range [][]byte{e.Link, e.ExportContext} {
		if header == nil {
			all = append(all, 0)
			continue
		}
		all = append(binary.AppendUvarint(all, uint64(len(header))+1), header...)
	}
	all = append(all, packBody(all[len(all):], e.Body)...)
	return k.seal(headersAndBody, strconv.FormatInt(e.ID, 10), all)
}

// openBody opens what sealBody sealed, into the export.
func (db *DB) openBody(ctx context.Context, e *model.Export, sealed []byte) error {
	all, err := db.openPart(ctx, headersAndBody, strconv.FormatInt(e.ID, 10), sealed)
	if err != nil {
		return err
	}
	for _, header := range []*[]byte{&e.Link, &e.ExportContext} {
		length, n := binary.Uvarint(all)
		if n <= 0 || length > uint64(len(all)-n)+1 {
			return fmt.Errorf("reading the %s (%d): %w", headersAndBody, e.ID, errChanged)
		}
		all, *header = all[n:], nil
		if length > 0 {
			*header, all = all[:length-1:length-1], all[length-1:]
		}
	}
	e.Body, err = unwrapSized(all, e.Size)
	return err
}
