package api

import "time"

// ErasePersonInput names a person of whom everything is erased: by id or by e-mail address.
type ErasePersonInput struct {
	// the id of the candidate, here or in the exports that came
	Candidate string `json:"candidate,omitzero" schema:"minLength=1 maxLength=1020"`
	// the ids of several candidates, who are erased with one receipt
	Candidates []string `json:"candidates,omitzero" schema:"maxItems=100 items.minLength=1 items.maxLength=1020"`
	// any of the addresses of a candidate, here or in the exports that came
	Email string `json:"email,omitzero" schema:"minLength=3 maxLength=320"`
}

// ErasureReceipt says what was erased of a person, and what remains.
type ErasureReceipt struct {
	ID         string     `json:"id"`
	Tenant     string     `json:"tenant"`
	Candidates []string   `json:"candidates"`      // ids
	Email      string     `json:"email,omitempty"` // the address that was asked for
	ErasedAt   time.Time  `json:"erasedAt"`
	Erased     []Erased   `json:"erased"`
	Remains    []Remains  `json:"remains"`
	List       ErasedList `json:"list"`
}

// Erased says what was erased in one place.
type Erased struct {
	Where string   `json:"where"` // a table, or the store of documents
	Count int64    `json:"count"`
	IDs   []string `json:"ids,omitempty"` // of what has ids
}

// Remains says what remains in one place, and why.
type Remains struct {
	Where string        `json:"where"`
	What  []RemainingID `json:"what,omitempty"`
	Count int64         `json:"count,omitzero"` // of what has no id
	Why   string        `json:"why"`
	Until string        `json:"until"`
}

// RemainingID identifies something that remains.
type RemainingID struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256,omitempty"`
}

// ErasedList says which entries of the list of erasures keep a backup from bringing a person back.
type ErasedList struct {
	ID      string  `json:"id"`
	Entries []int64 `json:"entries"`
}

// SignedErasureReceipt is a receipt with its signature: Ed25519 over its JSON without spaces, names in order.
type SignedErasureReceipt struct {
	Receipt   ErasureReceipt `json:"receipt"`
	Key       string         `json:"key"`       // public, in base64
	Signature string         `json:"signature"` // in base64
}

// ErasureKey is the public key that receipts of erasures are checked with.
type ErasureKey struct {
	Key string `json:"key"` // Ed25519, in base64
}
