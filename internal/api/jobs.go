package api

import (
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// JobQuestions are the questions that applicants for a job are asked, in order: the job's own, and the questions of its
// compliance groups.
type JobQuestions struct {
	Questions []model.Question `json:"questions"`
	Groups    []GroupNotice    `json:"groups"` // the text before the questions of each compliance group
}

// GroupNotice is the text before the questions of a compliance group.
type GroupNotice struct {
	model.ComplianceNotice
	Expired bool `json:"expired"`
}

// CheckInput has the answers of an application that the Apply API would check.
type CheckInput struct {
	Answers []AnswerInput `json:"answers"`
}

// AnswerInput is an answer to a question.
type AnswerInput struct {
	QuestionID string `json:"questionId"`
	Value      string `json:"value,omitzero"`
	File       *File  `json:"file,omitzero"` // describes a file, in the place of its content as value
}

// File describes a file without its content.
type File struct {
	MediaType string `json:"mediaType"` // by its content, as the Apply API names it
	Size      int64  `json:"size"`      // in bytes
}

// AnswerErrors has what the Apply API would refuse.
type AnswerErrors struct {
	Errors []AnswerError `json:"errors"` // as the Apply API answers them; empty: it would accept the answers
}

// AnswerError says why the answer to a question is refused.
type AnswerError struct {
	QuestionID string   `json:"questionId"`
	Messages   []string `json:"messages" schema:"minItems=1"`
}

// JobReceived counts the job applications for a job and the answers that were refused.
type JobReceived struct {
	Applications int64           `json:"applications" schema:"minimum=0"`
	Latest       time.Time       `json:"latest,omitzero"` // when the last one came; absent: there is none
	Since        time.Time       `json:"since"`           // refused answers are counted from here on
	Refused      []RefusedAnswer `json:"refused"`
}

// RefusedAnswer counts the answers to a question that the Apply API refused.
type RefusedAnswer struct {
	Question string       `json:"questionId"` // empty: the job does not ask it
	Format   model.Format `json:"format"`     // of the question
	Count    int64        `json:"count" schema:"minimum=1"`
	LastHour time.Time    `json:"lastHour"`
}

// ComplianceReport counts what applicants answered to the questions of the compliance groups.
type ComplianceReport struct {
	Tenant string                        `json:"tenant" schema:"ref=ShortName"`
	Job    *string                       `json:"job"` // null: all of them
	At     time.Time                     `json:"at"`
	Groups []model.ComplianceGroupReport `json:"groups"`
}
