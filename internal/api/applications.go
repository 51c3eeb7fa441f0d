package api

import (
	"encoding/hex"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Document is a document of a job application, without its file.
type Document struct {
	ID           string    `json:"id" schema:"ref=Id"`
	Tenant       string    `json:"tenant" schema:"ref=ShortName"`
	Application  string    `json:"jobApplication" schema:"ref=Id"`
	FileName     string    `json:"fileName,omitempty"`
	MediaType    string    `json:"mediaType"`
	Descriptions []string  `json:"descriptions"`
	Size         int64     `json:"size"` // in bytes
	SHA256       string    `json:"sha256" schema:"pattern=^[0-9a-f]{64}$"`
	CreatedAt    time.Time `json:"createdAt"`
	// the result of its scan; nobody gets the file while that is pending, or when it was refused; absent: no scanner was
	// asked
	Scan    string `json:"scan,omitempty" schema:"enum=pending|clean|refused"`
	Finding string `json:"finding,omitempty"` // why it was refused, in the scanner's words
}

// DocumentOf returns a document as it is shown.
func DocumentOf(d *model.ApplicationDocument) Document {
	return Document{
		ID: d.ID, Tenant: d.Tenant, Application: d.Application, FileName: d.FileName, MediaType: d.MediaType,
		Descriptions: d.Descriptions, Size: d.Size, SHA256: hex.EncodeToString(d.SHA256), CreatedAt: d.CreatedAt,
		Scan: string(d.Scan), Finding: d.Finding,
	}
}

// Answers is the content of a job application as it was asked and given, but for the questions of compliance groups:
// nothing shows a person's answers to those.
type Answers struct {
	Source     string        `json:"source"`            // where the applicant found the job
	APIUser    string        `json:"apiUser,omitempty"` // who sent it, as they were called then; absent: it was sent before this was kept
	ReceivedAt time.Time     `json:"receivedAt"`
	Answers    []model.Given `json:"answers"` // in the order of the questions
}

// JobApplicationList is a page of job applications. It may be shorter than was asked for before the last one.
type JobApplicationList struct {
	Items []ListedJobApplication `json:"items"`
	Next  *string                `json:"next"` // the cursor of the next page; null on the last one
	// a cursor for later, in lists that do not begin with the newest: with it, what comes after this page is listed, also
	// what commits late
	Resume string   `json:"resume,omitempty"`
	Erased []string `json:"erased,omitempty"` // in lists by change: the ids of those that were erased, whatever the filters
	Count  *Count   `json:"count,omitempty"`  // how many the filters choose, if that is asked for: 100,000 are looked at
}

// ListedJobApplication is a job application in a list.
type ListedJobApplication struct {
	model.JobApplication
	Answers *Answers `json:"answers,omitempty"` // if they are asked for; absent: it did not come by the Apply API
}

// JobApplicationVersion is a further version of a job application.
type JobApplicationVersion struct {
	model.JobApplication
}

// EndInput ends a job application.
type EndInput struct {
	As     model.Ending `json:"as"`
	Reason string       `json:"reason,omitempty"` // for people
}

// TransitionInput moves a job application into a step.
type TransitionInput struct {
	Step string `json:"step" schema:"ref=ShortName"`
}

// Transition is the move of a job application into a step.
type Transition struct {
	ID          string    `json:"id"`
	Application string    `json:"jobApplication" schema:"ref=Id"`
	Step        string    `json:"step" schema:"ref=ShortName"`
	Name        string    `json:"name"`               // of the step at that time
	Category    string    `json:"category,omitempty"` // of the step at that time
	EnteredAt   time.Time `json:"enteredAt"`
	Export      string    `json:"export,omitempty"` // the UUID of the export that the step's helper triggered
}

// StepsInput replaces the steps of a tenant's workflow.
type StepsInput struct {
	Items []model.Step `json:"items" schema:"maxItems=100"`
	Next  *string      `json:"next,omitzero"` // null, as in the answer to GET that has all steps
}

// StepHelper is the workflow helper of a step: it exports a candidate who enters the step.
type StepHelper struct {
	ID string `json:"id" schema:"optional ref=ShortName"` // of the step
	// the integrations that it exports to; empty: all of the tenant's
	Integrations []string `json:"integrations" schema:"optional uniqueItems=true maxItems=100 items.ref=ShortName"`
}
