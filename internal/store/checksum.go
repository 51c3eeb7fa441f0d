package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/hiregate/hiregate/internal/digest"
	"github.com/hiregate/hiregate/internal/model"
)

// A checksum tells whether a row is what was written. It finds what a disk or a memory changed, not what was changed by
// someone who can write to the database.

// compare returns errChanged unless the stored checksum of a row is the one that it has now. A row without one was
// written before there were checksums.
func compare(stored []byte, parts []string) error {
	if stored != nil && !bytes.Equal(stored, checksum(parts)) {
		return errChanged
	}
	return nil
}

func checksum(parts []string) []byte {
	sum := digest.Of(parts...)
	return sum[:]
}

// exportParts are whom an export is from, what it goes out under, its body by its hash, and its headers as they are
// stored: nil where they are sealed.
func exportParts(e *model.Export, link, exportContext []byte) []string {
	return []string{fmt.Sprint(e.ID, e.Keyed, e.Origin, link == nil, exportContext == nil), e.Tenant, e.Key,
		string(e.SHA256[:]), string(link), string(exportContext)}
}

// outgoingParts are a body as it goes out, as it is stored.
func outgoingParts(exportID int64, mode model.DocumentMode, kept []byte) []string {
	sum := sha256.Sum256(kept)
	return []string{outgoingRow(exportID, mode), string(sum[:])}
}

// documentParts are which attachment a document is.
func documentParts(exportID int64, position int) []string {
	return []string{fmt.Sprint(exportID, position)}
}

// linkParts are which document a public URL leads to.
func linkParts(hash [32]byte, documentID int64) []string {
	return []string{string(hash[:]), fmt.Sprint(documentID)}
}
