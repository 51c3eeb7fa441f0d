package model

import (
	"cmp"
	"time"
)

// DocumentState is the state of a document.
type DocumentState string

// The states of a document. Fetched and GivenUp are final.
const (
	Fetching DocumentState = "fetching"
	Scanning DocumentState = "scanning" // it is here, but not served before it is known to be clean
	Fetched  DocumentState = "fetched"
	GivenUp  DocumentState = "given_up"
)

// Document is a file of a candidate, referenced from an export's attachments.
type Document struct {
	ID        int64
	ExportID  int64
	Tenant    string
	Position  int    // among the export's attachments, from 0
	SourceURL []byte // where the service offers it; a credential
	State     DocumentState
	Reason    string // why it was given up, without its URL
	OurFault  bool   // the last try failed on our side, not on its service's
	Tries     int
	Refusals  int       // tries answered with a status that rarely changes: after a few the document is given up
	NextAt    time.Time // of the next try
	Blob      string    // name in the document store
	SHA256    []byte
	Size      int64
	Declared  string // media type as its sender says
	Detected  string // media type by content
	FileName  string
	CreatedAt time.Time
	FetchedAt time.Time
	LostAt    time.Time // when it was given up
}

// MediaType is the type to serve the document as: the one that its sender declared, or else the one found in its
// content. A declared type that says nothing, as object stores give every file, counts as none.
func (d *Document) MediaType() string {
	switch d.Declared {
	case "application/octet-stream", "binary/octet-stream":
		return cmp.Or(d.Detected, d.Declared)
	}
	return cmp.Or(d.Declared, d.Detected)
}
