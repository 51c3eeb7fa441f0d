// Package hropen is the body of a CANDIDATE-EXPORT (contract, "B. Webhook resources"): it is built from the domain
// types, and read back into them.
package hropen

import "github.com/hiregate/hiregate/internal/model"

// Application is one of a candidate's job applications as an export has it, with all that belongs to it.
type Application struct {
	*model.JobApplication
	Job         *model.Job // nil: it is attached to none, so neither status nor start date has a place in the export
	Attachments []Attachment
}

// Attachment is a document of a job application, and where it can be downloaded.
type Attachment struct {
	ID           string
	Descriptions []string
	URL          string
}

// The kinds of the contract's identifiers. After the maker's name they are a schemeId.
const (
	legacyCandidate      = "Legacy Candidate"
	candidateID          = "Candidate"
	legacyJobApplication = "Legacy Job Application"
	jobApplication       = "Job Application"
	legacyJob            = "Legacy Job"
	job                  = "Job"
	documentToCandidate  = "Document to Candidate"
	customFieldID        = "Custom Field"
	startDate            = "Start Date"
)

// The start date entry has a name and a type of its own.
const (
	startDateName = "startDate"
	startDateType = "date"
)

// datetime is the contract's field type of that name. It carries no zone; it is UTC here.
const datetime = "2006-01-02 15:04:05"

// each makes of every element another one. The result is never nil.
func each[S, T any](list []S, f func(S) T) []T {
	made := make([]T, len(list))
	for i, s := range list {
		made[i] = f(s)
	}
	return made
}
