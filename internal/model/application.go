package model

import "time"

// DefaultLanguage is the language of a job application that names none.
const DefaultLanguage = "en-US"

// JobApplication is a candidate's application for a job.
type JobApplication struct {
	Row
	ID string `json:"id" schema:"ref=Id"` // the profileId of the export
	// appjob_id of the service's other public API
	LegacyID     string      `json:"legacyId,omitempty" schema:"maxLength=255"`
	Candidate    string      `json:"candidate" schema:"required ref=Id"`  // the id of the candidate
	Job          string      `json:"jobBoardCode" schema:"maxLength=255"` // of the job it is for
	LanguageCode string      `json:"languageCode"`                        // a language tag; left out: en-US
	Education    []Education `json:"education" schema:"maxItems=100"`
	StartDate    *StartDate  `json:"startDate,omitempty"` // the start date entry of the export
	Status       Status      `json:"status"`
	Ended        *End        `json:"ended,omitempty"` // absent: it is open
	// until when its applicant agreed that it is kept, whatever the retention; absent: they did not
	KeepUntil time.Time `json:"keepUntil,omitzero"`
	// when the retention of its job or tenant erases it; absent: none does. In a request it is ignored
	ErasesAt time.Time `json:"erasesAt,omitzero"`
	// the id of the job application that it is a further version of: what was sent for the same job within a day, under the
	// same e-mail address. Absent: it is none
	VersionOf string `json:"versionOf,omitempty"`
	// the id of the further version whose files exports have; absent: they have its own
	Chosen string `json:"chosenVersion,omitempty"`
}

// KeptFrom returns from when the retention of the job application counts: its end; of an open one its receipt, or its last
// move if that was later.
func (a *JobApplication) KeptFrom() time.Time {
	switch {
	case a.Ended != nil:
		return a.Ended.At
	case a.Status.EnteredAt.After(a.CreatedAt):
		return a.Status.EnteredAt
	}
	return a.CreatedAt
}

// Education is one entry of a candidate's education: the names of its levels.
type Education struct {
	Levels []string `json:"educationLevelCodes" schema:"optional"` // the names of the levels
}

// StartDate is the day on which the candidate begins, and the id of the field that holds it.
type StartDate struct {
	ID   string `json:"id" schema:"ref=Id"`
	Date string `json:"date"` // YYYY-MM-DD
}

// Status is the position of a job application in the hiring workflow.
type Status struct {
	Step      string    `json:"step,omitempty"` // its id; empty for a status that came from elsewhere
	Name      string    `json:"name,omitempty"`
	Category  string    `json:"category,omitempty"`
	EnteredAt time.Time `json:"enteredAt,omitzero"`
	Unentered string    `json:"unentered,omitempty"` // why it could not enter the first step as it arrived
}

// Transition is one entering of a step.
type Transition struct {
	ID          int64
	Tenant      string
	Application string
	Status      Status
	Export      string // UUID of the export that the step's helper triggered; empty: none
}

// ApplicationDocument is a document of a job application, as it was uploaded.
type ApplicationDocument struct {
	Key          int64 // see NewID; the order in which they were added
	Tenant       string
	Application  string
	ID           string // of the contract's Identifier; unique within the application
	Descriptions []string
	FileName     string
	MediaType    string
	Blob         string // name in the document store
	SHA256       []byte
	Size         int64
	CreatedAt    time.Time
	Scan         ScanState
	Finding      string // why it was refused, in the scanner's words
}

// ScanState is a scanner's verdict on a document. Only clean documents, and those that no scanner sees, are handed on.
type ScanState string

// The states of a scan. Clean and Refused are final.
const (
	Unscanned   ScanState = ""
	ScanPending ScanState = "pending"
	Clean       ScanState = "clean"
	Refused     ScanState = "refused"
)

// HandsOn reports whether anybody gets the document.
func (s ScanState) HandsOn() bool { return s != ScanPending && s != Refused }
