package model

import (
	"net/mail"
	"time"
)

// APIUser is a partner that applies for jobs of a tenant through the Apply API.
type APIUser struct {
	ID         string
	Tenant     string
	Name       string // userName of the contract: an e-mail address, whose letters' case is of no account
	Password   string // its hash; see package password
	CreatedAt  time.Time
	DisabledAt time.Time // zero: it may apply
}

// TokenLife is how long a token of the Apply API is good (contract, "Limits").
const TokenLife = 48 * time.Hour

// ValidateName says what is wrong with the name of an API user, or nil.
func (u *APIUser) ValidateName() error {
	var k checker
	k.id("userName", u.Name)
	if a, err := mail.ParseAddress(u.Name); u.Name != "" && (err != nil || a.Address != u.Name) {
		k.fault("userName", "is no e-mail address: write one such as partner@example.com")
	}
	return k.err()
}

// ApplicationAnswers are the content of a job application as it was sent to the Apply API.
type ApplicationAnswers struct {
	Source  string  `json:"source"`
	APIUser string  `json:"apiUser,omitempty"` // the name of who sent it, as it was then; empty: it is from before this was kept
	Answers []Given `json:"answers"`           // in the order of the questions; but for the compliance groups
}

// Given is an answer of a job application. That of a File question names the document it became.
type Given struct {
	Question string   `json:"questionId"`
	Label    string   `json:"label"`
	Format   string   `json:"format"`
	Values   []string `json:"values,omitempty"`   // one, or the choices of a Checkbox question
	Document string   `json:"document,omitempty"` // the id of the file that was given, a document of the job application
}

// ComplianceAnswer is an answer to a question of a compliance group. It is kept apart from everything else.
type ComplianceAnswer struct {
	Question string
	Group    string
	Choice   bool // the value is one of the question's options
	Value    string
	// AnsweredAt is when it was stored; zero: it is not yet.
	AnsweredAt time.Time
}

// ComplianceCount is how many applicants for a job chose an option.
type ComplianceCount struct {
	Job      string
	Group    string
	Question string
	Value    string
	Count    int
}
