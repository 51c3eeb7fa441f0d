package model

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"
)

// lastID makes ids rise within a process, whatever the clock does.
var lastID atomic.Int64

// NewID is an id for a row made at a time: its microseconds, and ten random bits that keep the nodes of one database
// apart. Ids rise with time, so that rows are written and read in the order they came.
func NewID(at time.Time) int64 {
	id := at.UnixMicro()<<10 | mathrand.Int64N(1<<10)
	for {
		last := lastID.Load()
		id = max(id, last+1)
		if lastID.CompareAndSwap(last, id) {
			return id
		}
	}
}

// FirstID is the smallest id of a row that was made at a time or later. An id that was pushed on, because the clock
// stood still or went back, lies behind its time by as little.
func FirstID(at time.Time) int64 { return at.UnixMicro() << 10 }

// TimeOfID is when the row of an id was made.
func TimeOfID(id int64) time.Time { return time.UnixMicro(id >> 10).UTC() }

// A receipt is an export's id and 128 random bits. The id finds the export without an index of its own, the bits can't
// be guessed: a receipt is all that is needed to ask what became of an export.
const (
	receiptID     = 8
	receiptRandom = 16
)

// ReceiptHead returns the part of a receipt that may be logged, its first 12 characters: they find the export, and the
// receipt can't be guessed from them.
func ReceiptHead(receipt string) string { return receipt[:min(len(receipt), 12)] }

var receiptEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewReceipt is a receipt for the export of that id.
func NewReceipt(id int64) string {
	raw := make([]byte, receiptID+receiptRandom)
	binary.BigEndian.PutUint64(raw, uint64(id))
	_, _ = rand.Read(raw[receiptID:]) // never fails
	return receiptEncoding.EncodeToString(raw)
}

// ParseReceipt is the id of the export that a receipt may be for; false for what is no receipt.
func ParseReceipt(receipt string) (int64, bool) {
	raw, err := receiptEncoding.DecodeString(receipt)
	if err != nil || len(raw) != receiptID+receiptRandom {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(raw)), true
}
