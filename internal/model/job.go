package model

import (
	"slices"
	"time"
)

// Job is a position opening. Within its tenant it is known by its job board code.
type Job struct {
	Row
	BoardCode string `json:"jobBoardCode" schema:"ref=Id"` // unique in its tenant
	// positionOpeningId of the export, neither the job board code nor the legacy id; unique in its tenant
	ID string `json:"id" schema:"required ref=Id"`
	// job_id of the service's other public API
	LegacyID     string        `json:"legacyId,omitempty" schema:"maxLength=255"`
	Title        string        `json:"title,omitempty"`
	URI          string        `json:"uri,omitempty"`
	Place        string        `json:"place,omitempty"`       // where one works, for people
	Description  string        `json:"description,omitempty"` // for people, without markup; at most 16 KiB
	CustomFields []CustomField `json:"customFields" schema:"maxItems=100"`
	// a language tag, that of the job applications that come by the Apply API; absent: en-US
	LanguageCode string `json:"languageCode,omitempty"`

	// nobody can apply any more
	Closed bool `json:"closed"`
	// from then on nobody can apply, and it becomes closed by itself; absent: it does not
	ClosesAt time.Time `json:"closesAt,omitzero"`
	// for how many days its job applications are kept; absent: as long as the tenant's others
	KeepApplications int `json:"keepApplications,omitzero" schema:"minimum=4 maximum=36500"`
	// while it is open, the public feed has it
	Syndicate bool `json:"syndicate"`
	// of the job itself, without those of the compliance groups
	Questions []Question `json:"questions"`
	// whose questions are asked after the others
	ComplianceGroups []string `json:"complianceGroups" schema:"items.enum=complianceEeo|complianceOfccp|complianceVevraa"`
}

// IsOpen reports whether one can apply at a time.
func (j *Job) IsOpen(now time.Time) bool {
	return !j.Closed && (j.ClosesAt.IsZero() || now.Before(j.ClosesAt))
}

// Files returns how many of the job's questions ask for a file.
func (j *Job) Files() (n int) {
	for _, q := range j.Questions {
		if q.Format == File {
			n++
		}
	}
	return n
}

// Step is a step of the hiring workflow. A job application that enters it gets its name and category as status.
type Step struct {
	Row
	ID       string `json:"id" schema:"required ref=ShortName"`
	Name     string `json:"name" schema:"required minLength=1"`
	Category string `json:"category,omitempty"`
	// among the tenant's steps, from 0; in a request the order of the list decides
	Position int     `json:"position" schema:"minimum=0"`
	Helper   *Helper `json:"helper"` // null: none; in a request, null leaves the helper as it is
}

// Names reports whether the step has a helper that names an integration. One that names none exports to all.
func (s *Step) Names(integration string) bool {
	return s.Helper != nil && slices.Contains(s.Helper.Integrations, integration)
}

// Helper is the workflow helper of a step: it exports a candidate each time one of their job applications enters the
// step.
type Helper struct {
	// the integrations that it exports to; empty: all of the tenant's
	Integrations []string `json:"integrations" schema:"optional uniqueItems=true items.ref=ShortName"`
}
