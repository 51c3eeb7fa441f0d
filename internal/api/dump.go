package api

import "time"

const (
	// DumpType is the media type of a dump: all that is held of a candidate, as a tar archive.
	DumpType = "application/x-tar"
	// DumpIndexName is the name of the last file of a dump, a DumpIndex.
	DumpIndexName = "index.json"
)

// DumpIndex says what a dump has.
type DumpIndex struct {
	Tenant    string        `json:"tenant"`
	Candidate string        `json:"candidate"` // the id
	At        time.Time     `json:"at"`
	Files     []DumpFile    `json:"files"`
	Missing   []DumpMissing `json:"missing"` // what is stored and can't be read
}

// DumpFile is a file of a dump.
type DumpFile struct {
	Name  string `json:"name"`
	Holds string `json:"holds"`
}

// DumpMissing is something that a dump lacks.
type DumpMissing struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// DumpedCompliance is an answer to a question of a compliance group.
type DumpedCompliance struct {
	Group      string    `json:"group"`
	Question   string    `json:"questionId"`
	Label      string    `json:"label,omitempty"` // as the group's present form has it
	Value      string    `json:"value"`
	AnsweredAt time.Time `json:"answeredAt"`
}

// DumpedUpload is a document of a job application.
type DumpedUpload struct {
	Document
	File string `json:"file,omitempty"` // of the dump, with the content; absent: that can't be read
}

// DumpedAttempts are attempts of a delivery that are not in the export's detail any more.
type DumpedAttempts struct {
	Integration string    `json:"integration"`
	Round       int       `json:"round"`
	Attempts    []Attempt `json:"attempts"` // the last one first
}

// DumpedDocument is a document of an export.
type DumpedDocument struct {
	ExportDocument
	FileName string `json:"fileName,omitempty"`
	File     string `json:"file,omitempty"` // of the dump, with the content; absent: there is none, or it can't be read
}
