package model

// ComplianceNotice is the text that applicants are shown before the questions of a compliance group (contract,
// "Compliance").
type ComplianceNotice struct {
	Group   string   `json:"group"`
	Title   string   `json:"title"`
	Form    string   `json:"form"` // its number
	Source  string   `json:"source"`
	Expires *string  `json:"expires"` // its last day, YYYY-MM-DD; null: it does not expire
	Text    []string `json:"text"`    // paragraphs
}

// ComplianceGroupReport counts what applicants answered to the questions of a compliance group. A small count is null,
// and so is one from which a small count follows.
type ComplianceGroupReport struct {
	Group     string                     `json:"group" schema:"enum=complianceEeo|complianceOfccp|complianceVevraa"`
	Title     string                     `json:"title"`
	Form      string                     `json:"form"` // its number
	Questions []ComplianceQuestionReport `json:"questions"`
}

// ComplianceQuestionReport counts the answers to one question.
type ComplianceQuestionReport struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Answers *int   `json:"answers" schema:"minimum=5"` // how many answered; null: hidden
	// in the form's order, then those that no form has any more
	Options []ComplianceOptionReport `json:"options"`
}

// ComplianceOptionReport counts the applicants who chose an option.
type ComplianceOptionReport struct {
	Option string `json:"option"`
	Count  *int   `json:"count" schema:"minimum=5"` // null: hidden
}
